"""Regularizers: important weights stay where they are (EWC, PI, RW)."""

from .base import Regularizer, min_max
from .ewc import EWC
from .importance import ImportanceState, add_penalty_gradient, penalty
from .pi import PI
from .rw import RW

__all__ = [
    'EWC',
    'PI',
    'RW',
    'ImportanceState',
    'Regularizer',
    'add_penalty_gradient',
    'min_max',
    'penalty',
]
