"""Hooks: they only schedule."""

from .epoch_seed_hook import EpochSeedHook
from .invalid_loss_hook import InvalidLossHook
from .pseudo_threshold_hook import PseudoThresholdHook

__all__ = ['EpochSeedHook', 'InvalidLossHook', 'PseudoThresholdHook']
