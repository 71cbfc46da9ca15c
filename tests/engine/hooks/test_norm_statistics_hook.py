"""Which norms the hook averages; tests/test_processes.py runs it."""

import torch
from torch import nn

from mmseg_rbc.engine.hooks.norm_statistics_hook import _has_own_statistics


def test_which_norms_have_statistics_of_their_own():
    norm = nn.BatchNorm2d(2)
    assert _has_own_statistics(norm)
    assert not _has_own_statistics(norm.eval()), 'frozen'
    assert not _has_own_statistics(nn.SyncBatchNorm(2))
    assert not _has_own_statistics(nn.GroupNorm(1, 2))
    plain = nn.BatchNorm2d(2, track_running_stats=False)
    assert plain(torch.ones(2, 2, 1, 1)).shape == (2, 2, 1, 1)
    assert not _has_own_statistics(plain)
