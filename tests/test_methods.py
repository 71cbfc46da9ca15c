"""All eleven methods run 15-1 on synthetic data, from end to end."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import pytest
import torch
from helpers import logged, make_tiny_config, weights
from mmengine.registry import init_default_scope

from mmseg_rbc.engine import run_sequence

# The losses of each method beside the criterion.
LOSSES = {
    'ft': set(),
    'lwf': {'loss_kd'},
    'ilt': {'loss_kd', 'loss_feature'},
    'mib': {'loss_kd'},
    'plop': {'loss_pod'},
    'rbc': {'loss_pod', 'loss_consistency'},
    'lwf-mc': {'loss_kd'},
    'ewc': set(),
    'pi': set(),
    'rw': set(),
}
SHARE_STEP_0 = ('ft', 'lwf', 'ilt', 'mib', 'plop', 'rbc')
IMPORTANCE = dict(ewc=('fisher',), pi=('omega',), rw=('fisher', 'score'))
QUICK = {
    'continual.task': '15-1',
    'schedule.base': dict(lr=0.005, epochs=1, batch_size=8),
    'schedule.later': dict(lr=0.005, epochs=2, batch_size=8),
}


@pytest.fixture(scope='module')
def base(tiny_root, tmp_path_factory) -> Path:
    """A step 0 that knows a few classes, so that teachers have a say."""
    init_default_scope('mmseg')
    cfg, _ = make_tiny_config(tiny_root, 'ft', **QUICK)
    cfg.schedule.base.update(lr=0.01, epochs=40)
    cfg.optim_wrapper.optimizer = dict(type='AdamW')
    cfg.default_hooks.checkpoint.interval = 40
    work_dir = tmp_path_factory.mktemp('base')
    run_sequence(cfg, str(work_dir), steps=[0])
    return work_dir


@pytest.fixture(scope='module')
def runs(tiny_root, base, tmp_path_factory):
    """Return the work dir of a run of a method, which is run once."""
    folder = tmp_path_factory.mktemp('methods')

    @cache
    def run(method: str, init_from: str | None = None) -> Path:
        changes = dict(QUICK)
        if method == 'rw':
            # Of the few iterations none is the tenth.
            changes['method.importance.interval'] = 1
        cfg, options = make_tiny_config(tiny_root, method, **changes)
        work_dir = folder / f'{method}_{init_from}'
        source = run(init_from) if init_from else base
        shares = method in SHARE_STEP_0
        run_sequence(
            cfg,
            str(work_dir),
            init_from=str(source) if shares else None,
            options=options,
        )
        return work_dir

    return run


def check_results(work_dir: Path, num_steps: int) -> None:
    """The files of a run agree about its results."""
    summary = json.loads((work_dir / 'summary.json').read_text())
    assert [s['step'] for s in summary['steps']] == list(range(num_steps))
    last = work_dir / f'step_{num_steps - 1}'
    metrics = json.loads((last / 'metrics.json').read_text())
    assert len(metrics['IoU']) == 21
    for group in ('old', 'new', 'all'):
        found = summary['steps'][-1]['metrics'][f'mIoU_{group}']
        assert found == round(metrics['mIoU'][group], 2)


@pytest.mark.parametrize('method', LOSSES)
def test_sequence(runs, method):
    work_dir = runs(method)
    check_results(work_dir, num_steps=6)
    expected = {'loss', 'loss_ce', *LOSSES[method]}
    positive = set()
    for step in range(1, 6):
        for line in logged(work_dir / f'step_{step}'):
            found = {key for key in line if key.startswith('loss')}
            assert found == expected, step
            for key in found:
                assert 0 <= line[key] < math.inf, (step, key)
                positive |= {key} if line[key] > 0 else set()
            parts = sum(line[key] for key in found - {'loss'})
            assert line['loss'] == pytest.approx(parts, rel=1e-4)
        exists = (work_dir / f'step_{step}/importance.pth').exists()
        assert exists == (method in IMPORTANCE)
    # A batch may show no old class: then the consistency has no pixel.
    assert positive == expected


@pytest.mark.parametrize('method', [*SHARE_STEP_0[1:], *IMPORTANCE])
def test_method_is_not_fine_tuning(runs, method):
    """From the same step 0 it goes elsewhere: backbone and old classes."""
    plain = runs('ft', 'ewc') if method in IMPORTANCE else runs('ft')
    for step in (0, 5):
        a, b = (
            weights(run / f'step_{step}/final.pth')
            for run in (runs(method), plain)
        )
        for key in ('backbone.stem.0.weight', 'decode_head.conv_seg.weight'):
            difference = (a[key][:16] - b[key][:16]).abs().max()
            assert (difference > 1e-6) == (step > 0), (step, key, difference)


@pytest.mark.parametrize('method', IMPORTANCE)
def test_importance_of_the_last_step(runs, method):
    path = runs(method) / 'step_5/importance.pth'
    content = torch.load(path, weights_only=True)
    assert content['regularizer'] == method.upper()
    assert content['blocks'] == [16, 1, 1, 1, 1, 1]
    final = weights(runs(method) / 'step_5/final.pth')
    for name, tensors in content['tensors'].items():
        assert tuple(tensors) == IMPORTANCE[method]
        for part, value in tensors.items():
            assert value.shape == final[name].shape
            assert torch.isfinite(value).all() and (value >= 0).all()
            assert value.min() < value.max(), (name, part)


def test_joint_learns_everything_in_one_step(runs):
    """Compared by the groups of 15-1 as well; no teacher, no losses."""
    work_dir = runs('joint')
    check_results(work_dir, num_steps=1)
    (line,) = logged(work_dir / 'step_0')
    assert {key for key in line if 'loss' in key} == {'loss', 'loss_ce'}
    assert 0 < line['loss'] < math.inf
    metrics = json.loads((work_dir / 'step_0/metrics.json').read_text())
    assert metrics['num_base'] == 16 and metrics['task'] == 'offline'
