"""From a config to the steps of a continual run."""

from . import hooks
from .log_processor import ContinualLogProcessor
from .poly_lr import PublishedPolyLR
from .sequence import run_sequence
from .step_config import step_config

__all__ = [
    'ContinualLogProcessor',
    'PublishedPolyLR',
    'hooks',
    'run_sequence',
    'step_config',
]
