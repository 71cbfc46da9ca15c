"""From a config to the steps of a continual run."""

from .step_config import step_config

__all__ = ['step_config']
