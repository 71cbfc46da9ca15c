"""Losses: each a pure function and a thin module."""

from .consistency import ContextConsistencyLoss, squared_distance
from .cross_entropy import (
    PixelCrossEntropy,
    balance_weight,
    pixel_cross_entropy,
)
from .local_pod import LocalPODLoss, local_pod_distance

__all__ = [
    'ContextConsistencyLoss',
    'LocalPODLoss',
    'PixelCrossEntropy',
    'balance_weight',
    'local_pod_distance',
    'pixel_cross_entropy',
    'squared_distance',
]
