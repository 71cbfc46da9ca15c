"""From a config to the steps of a continual run."""

from . import hooks, schedulers
from .log_processor import ContinualLogProcessor
from .sequence import run_sequence
from .step_config import RunConfig, step_config

__all__ = [
    'ContinualLogProcessor',
    'RunConfig',
    'hooks',
    'run_sequence',
    'schedulers',
    'step_config',
]
