"""Hooks: they only schedule."""

from .epoch_seed_hook import EpochSeedHook
from .importance_hook import ImportanceHook
from .invalid_loss_hook import InvalidLossHook
from .pseudo_threshold_hook import PseudoThresholdHook

__all__ = [
    'EpochSeedHook',
    'ImportanceHook',
    'InvalidLossHook',
    'PseudoThresholdHook',
]
