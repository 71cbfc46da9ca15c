"""Batch norms that do not change."""

from __future__ import annotations

from torch import nn

BATCH_NORMS = (
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
    nn.SyncBatchNorm,
)


def freeze_norms(network: nn.Module) -> None:
    """Let batch norms use their running statistics, and keep them."""
    for module in network.modules():
        if isinstance(module, BATCH_NORMS):
            module.eval()
