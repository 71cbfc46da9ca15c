"""Several processes compute what one does, and what they did before."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from helpers import (
    CONFIGS,
    assert_equal_weights,
    run_tool,
    weights,
)

from mmseg_rbc.utils.environment import git_state


def recorded_losses(work_dir: Path) -> list:
    files = sorted((work_dir / 'step_1').glob('losses_*.json'))
    return [json.loads(file.read_text()) for file in files]


TRAIN = ['train.py', CONFIGS / 'rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py']
OPTIONS = [
    'continual.task=15-5',
    'continual.indices=8',
    'schedule.base.epochs=4',
    'optim_wrapper.optimizer.type=SGD',
    'optim_wrapper.optimizer.momentum=0.9',
    'schedule.later.lr=0.1',
    'recipe.warmup_iters=0',
    'model.backbone.norm_eval=True',
    'model.decode_head.norm_cfg=None',
    'default_hooks.logger.interval=1',
    'default_hooks.record.type=RecordLosses',
    'custom_imports.imports=[mmseg_rbc,helpers]',
]
BY_ITERATION = ['schedule.later.epochs=None', 'schedule.later.iters=2']


@pytest.fixture(scope='module')
def base(tiny_root, tmp_path_factory) -> Path:
    """Return a work dir with step 0."""
    base = tmp_path_factory.mktemp('base')
    options = [f'continual.data_root={tiny_root}', *OPTIONS]
    args = ['--work-dir', base, '--step', 0, '--cfg-options', *options]
    run_tool(*TRAIN, *args)
    return base


@pytest.mark.parametrize('length', [['schedule.later.epochs=1'], BY_ITERATION])
def test_two_processes_equal_one(tiny_root, base, tmp_path, length):
    """Two iterations of RBC: batch 4 + 4 against two times 2 + 2.

    Batch statistics are kept out of it: the backbone uses its running ones
    and the head has no norm. Crops and order of the images are random.
    """
    options = [f'continual.data_root={tiny_root}', *OPTIONS, *length]
    logs, finals = [], []
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        shutil.copytree(base, folder)
        args = ['--work-dir', folder, '--step', 1, '--cfg-options', *options]
        run_tool(*TRAIN, *args, processes=processes)
        finals.append(weights(folder / 'step_1/final.pth'))
        (log,) = folder.glob('step_1/*/*.log')
        logs.append(log.read_text())
    assert_equal_weights(*finals, tolerance=1e-5)
    one, *_ = recorded_losses(tmp_path / '1')
    two = recorded_losses(tmp_path / '2')
    assert len(two) == 2 and len(one) == 2
    for name in ('loss', 'loss_ce', 'loss_pod', 'loss_consistency'):
        for i, single in enumerate(one):
            mean = (two[0][i][name] + two[1][i][name]) / 2
            assert mean == pytest.approx(single[name], rel=1e-5, abs=1e-7)
    before = weights(base / 'step_0/final.pth')
    moved = [
        (finals[0][k] - v).abs().max().item()
        for k, v in before.items()
        if v.shape == finals[0][k].shape and v.is_floating_point()
    ]
    assert max(moved) > 1e-3, 'two iterations changed the weights'
    thresholds = [
        re.search('thresholds of the pseudo-labels: (0.*)', log)[1]
        for log in logs
    ]
    assert thresholds[0] == thresholds[1]
    for log in logs:
        assert '[2/2]' in log and ('Iter(train)' in log) == (len(length) > 1)


def test_two_runs_are_bit_equal(tiny_root, tmp_path):
    """With the same seed and two threads; the files say so."""
    options = [f'continual.data_root={tiny_root}', 'continual.task=15-5']
    options += ['schedule.base.epochs=2', 'schedule.later.epochs=2']
    options += ['randomness.seed=5']
    runs = []
    for name in ('a', 'b'):
        args = ['--work-dir', tmp_path / name, '--cfg-options', *options]
        run_tool(*TRAIN, *args, env=dict(OMP_NUM_THREADS='2'))
        runs.append(tmp_path / name / 'step_1')
    assert_equal_weights(*(weights(run / 'final.pth') for run in runs))
    metrics = [json.loads((run / 'metrics.json').read_text()) for run in runs]
    assert metrics[0] == metrics[1]
    done = json.loads((runs[0] / 'finished.json').read_text())
    summary = json.loads((tmp_path / 'a/summary.json').read_text())
    assert summary['steps'][1] == done
    for content in (metrics[0], done):
        assert content['seed'] == 5 and content['threads'] == 2
        assert set(content['data']) == {'train', 'val'}
        assert content['versions']['torch'] == torch.__version__
        assert content['git'] == git_state()


SHORT = [
    'continual.task=15-5',
    'crop_size=(32,32)',
    'schedule.base.epochs=2',
    'schedule.later.epochs=1',
    'recipe.warmup_iters=0',
]
# Random classifiers, so that predictions follow the statistics.
RANDOM = [
    'model.decode_head.init_cfg.type=Normal',
    'model.decode_head.init_cfg.std=1.0',
    'model.decode_head.init_cfg.override.name=conv_seg',
    'schedule.base.lr=1e-4',
]
GROWING = [
    'schedule.base.batch_size=12',
    'schedule.base.lr=0.03',
    'schedule.later.batch_size=24',
    'schedule.later.lr=0.06',
]
RW = [
    'model.backbone.norm_eval=True',
    'model.decode_head.norm_cfg=None',
    'method.importance.interval=2',
]


@pytest.fixture(scope='module')
def forked(tiny_root, tmp_path_factory) -> tuple[Path, str]:
    """Return a folder of runs, and what the one of 16 processes printed.

    ``1``, ``2`` and ``4`` were trained and tested by as many processes,
    ``grown`` by 16, and ``rw_1`` and ``rw_3`` are of RW.
    """
    folder = tmp_path_factory.mktemp('forked')
    short = ['--cfg-options', f'continual.data_root={tiny_root}', *SHORT]
    for number in (1, 2, 4):
        run = ['--step', 0, '--work-dir', folder / str(number)]
        final = folder / str(number) / 'step_0/final.pth'
        run_tool(*TRAIN, *run, *short, *RANDOM, processes=number)
        run_tool('test.py', TRAIN[1], final, *short, processes=number)
    for number in (1, 3):
        run = ['--step', 0, '--work-dir', folder / f'rw_{number}']
        rw = CONFIGS / 'rw/rw_fcn-tiny_shapes-15-1-overlapped.py'
        run_tool('train.py', rw, *run, *short, *RW, processes=number)
    run = ['--work-dir', folder / 'grown']
    return folder, run_tool(*TRAIN, *run, *short, *GROWING, processes=16)


@pytest.mark.parametrize('number', [1, 2, 4])
def test_what_is_evaluated_is_what_is_saved(forked, number):
    """Each process has its own batch statistics; they are averaged."""
    folder = forked[0] / str(number) / 'step_0'
    run, test = (
        json.loads((folder / name).read_text())
        for name in ('metrics.json', 'test/metrics.json')
    )
    assert run['IoU'] == test['IoU'] and run['mIoU'] == test['mIoU']
    assert sum(iou > 0 for iou in run['IoU'].values() if iou) > 3
    state = weights(folder / 'final.pth')
    variances = [v for k, v in state.items() if k.endswith('running_var')]
    assert len(variances) > 5
    assert all((v - 1).abs().max() > 0.01 for v in variances)


def test_16_processes_and_12_images(forked):
    """The batch and the learning rate grow, and both steps train."""
    folder, printed = forked
    assert 'more processes than images in a batch: it grows' in printed
    assert 'step 0: 12 to 16 images, lr 0.03 to 0.04; step 1: 12' in printed
    for step, lr in (('step_0', 0.04), ('step_1', 0.08)):
        config = (folder / 'grown' / step / 'config.py').read_text()
        assert f'lr={lr}' in config and 'batch_size=16' in config
    summary = json.loads((folder / 'grown/summary.json').read_text())
    assert len(summary['steps']) == 2


def test_importance_does_not_depend_on_the_processes(forked):
    """RW squares the gradient of the whole batch, not of a share."""
    one, three = (
        torch.load(forked[0] / name / 'step_0/importance.pth')['tensors']
        for name in ('rw_1', 'rw_3')
    )
    assert one.keys() == three.keys()
    assert sum(bool(part['score'].max() > 0) for part in one.values()) > 5
    for name, tensors in one.items():
        assert tensors.keys() == {'fisher', 'score'}
        for kind, expected in tensors.items():
            torch.testing.assert_close(
                *(three[name][kind], expected),
                rtol=0,
                atol=1e-3 * expected.max().item(),
            )
