"""Hooks: they only schedule."""

from .fusion_hook import FusionHook
from .gradient_share_hook import GradientShareHook
from .importance_hook import ImportanceHook
from .invalid_loss_hook import InvalidLossHook
from .memory_hook import MemoryHook
from .new_rows_hook import NewRowsHook
from .norm_statistics_hook import NormStatisticsHook
from .pseudo_threshold_hook import PseudoThresholdHook
from .torch_seed_hook import TorchSeedHook

__all__ = [
    'FusionHook',
    'GradientShareHook',
    'ImportanceHook',
    'InvalidLossHook',
    'MemoryHook',
    'NewRowsHook',
    'NormStatisticsHook',
    'PseudoThresholdHook',
    'TorchSeedHook',
]
