"""Hooks: they only schedule."""

from .epoch_seed_hook import EpochSeedHook
from .gradient_share_hook import GradientShareHook
from .importance_hook import ImportanceHook
from .invalid_loss_hook import InvalidLossHook
from .new_rows_hook import NewRowsHook
from .pseudo_threshold_hook import PseudoThresholdHook

__all__ = [
    'EpochSeedHook',
    'GradientShareHook',
    'ImportanceHook',
    'InvalidLossHook',
    'NewRowsHook',
    'PseudoThresholdHook',
]
