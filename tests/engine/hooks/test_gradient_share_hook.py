"""The share of each loss, and a training that does not notice."""

import re
import shutil

import pytest
import torch
from helpers import assert_equal_weights, weights
from torch import nn

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.hooks.gradient_share_hook import (
    gradient_norms,
    unnoticed,
)


def test_norms_by_hand():
    model = nn.Linear(2, 1, bias=False)
    model.weight.data = torch.tensor([[3.0, 4.0]])
    w = model.weight
    losses = dict(
        loss_a=w.sum(),
        loss_b=0.5 * w.square().sum(),
        diagnostic=w.sum(),
        loss_const=torch.tensor(1.0),
    )
    norms = gradient_norms(model, losses)
    assert list(norms) == ['loss_a', 'loss_b']
    assert norms['loss_a'] == pytest.approx(2**0.5)
    assert norms['loss_b'] == pytest.approx(5)
    assert model.weight.grad is None


def test_statistics_and_random_state_are_restored():
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    torch.manual_seed(0)
    before = model[0].running_mean.clone()
    with unnoticed(model):
        model(torch.randn(8, 2) + 5)
        assert not torch.equal(model[0].running_mean, before)
    assert torch.equal(model[0].running_mean, before)
    assert model[0].num_batches_tracked == 0
    drawn = torch.rand(3)
    torch.manual_seed(0)
    assert torch.equal(torch.rand(3), drawn)


def test_a_run_with_it_ends_the_same(tiny_run, tiny_config, tmp_path):
    finals = []
    for name, iteration in (('with', 2), ('without', 10**9)):
        folder = tmp_path / name
        shutil.copytree(tiny_run / 'step_0', folder / 'step_0')
        cfg, options = tiny_config('plop')
        for hook in cfg.custom_hooks:
            if hook.type == 'GradientShareHook':
                hook.iteration = iteration
        run_sequence(cfg, str(folder), options=options)
        finals.append(weights(folder / 'step_1/final.pth'))
        (log,) = (folder / 'step_1').glob('*/*.log')
        found = re.findall(
            r'share of each loss in the gradient: loss_ce (\d+) % \(norm '
            r'([\d.e+-]+)\), loss_pod (\d+) %',
            log.read_text(),
        )
        assert len(found) == (name == 'with')
        for ce, norm, pod in found:
            assert int(ce) + int(pod) in (99, 100, 101) and float(norm) > 0
    assert_equal_weights(*finals)


def test_activation_checkpointing_is_no_obstacle(
    tiny_run, tiny_config, tmp_path
):
    shutil.copytree(tiny_run / 'step_0', tmp_path / 'step_0')
    cfg, options = tiny_config('plop', **{'model.backbone.with_cp': True})
    for hook in cfg.custom_hooks:
        if hook.type == 'GradientShareHook':
            hook.iteration = 1
    assert len(run_sequence(cfg, str(tmp_path), options=options)) == 2
    (log,) = (tmp_path / 'step_1').glob('*/*.log')
    assert 'the share of each loss is not known: ' in log.read_text()
