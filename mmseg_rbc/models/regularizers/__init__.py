"""Regularizers: important weights stay where they are (EWC, PI, RW)."""

from .base import Regularizer, min_max
from .ewc import EWC
from .importance import ImportanceState, penalty, penalty_gradient
from .pi import PI
from .rw import RW

__all__ = [
    'EWC',
    'PI',
    'RW',
    'ImportanceState',
    'Regularizer',
    'min_max',
    'penalty',
    'penalty_gradient',
]
