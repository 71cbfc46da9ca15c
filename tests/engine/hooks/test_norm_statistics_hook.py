"""What is evaluated is what is saved, with any number of processes."""

import json

import pytest
import torch
from helpers import CONFIGS, run_tool
from torch import nn

from mmseg_rbc.engine.hooks.norm_statistics_hook import _has_own_statistics

CONFIG = CONFIGS / 'ft/ft_fcn-tiny_shapes-15-1-overlapped.py'


@pytest.mark.parametrize('processes', [1, 2, 4])
def test_result_is_that_of_the_final_network(tiny_root, tmp_path, processes):
    """To the last digit, with batch norms that learn fast."""
    options = [
        '--cfg-options',
        f'continual.data_root={tiny_root}',
        'continual.task=15-5',
        'schedule.base.epochs=3',
        'model.backbone.norm_cfg.momentum=0.5',
    ]
    args = ['train.py', CONFIG, '--step', 0, '--work-dir', tmp_path, *options]
    args += ['--launcher', 'pytorch'] * (processes > 1)
    run_tool(*args, processes=processes)
    final = tmp_path / 'step_0/final.pth'
    run_tool('test.py', CONFIG, final, *options)
    run, test = (
        json.loads((final.parent / name).read_text())
        for name in ('metrics.json', 'test/metrics.json')
    )
    assert run['num_images'] == test['num_images'] == 6
    assert run['IoU'] == pytest.approx(test['IoU'], abs=0, nan_ok=True)
    assert run['mIoU'] == test['mIoU']


def test_which_norms_have_statistics_of_their_own():
    norm = nn.BatchNorm2d(2)
    assert _has_own_statistics(norm)
    assert not _has_own_statistics(norm.eval()), 'frozen'
    assert not _has_own_statistics(nn.SyncBatchNorm(2))
    assert not _has_own_statistics(nn.GroupNorm(1, 2))
    plain = nn.BatchNorm2d(2, track_running_stats=False)
    assert plain(torch.ones(2, 2, 1, 1)).shape == (2, 2, 1, 1)
    assert not _has_own_statistics(plain)
