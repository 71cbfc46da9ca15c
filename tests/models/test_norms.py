"""Frozen norms keep their statistics; other modules keep their mode."""

import torch
from torch import nn

from mmseg_rbc.models.norms import freeze_norms


def test_statistics_stay():
    norms = [nn.BatchNorm2d(3), nn.SyncBatchNorm(3)]
    network = nn.Sequential(nn.Dropout(0.5), *norms).train()
    freeze_norms(network)
    network[1](torch.randn(4, 3, 5, 5) + 2)
    assert network[1].running_mean.tolist() == [0, 0, 0]
    assert [m.training for m in network] == [True, False, False]
