"""Parts of later methods go with each other: all pairs train two steps."""

import json
import math
from itertools import combinations
from pathlib import Path

import pytest
import torch
from helpers import (
    CONFIGS,
    assert_equal_weights,
    logged,
    make_tiny_config,
    run_tool,
    weights,
)
from mmengine.registry import init_default_scope

from mmseg_rbc.engine import run_sequence

# What each part adds to PLOP.
PARTS = dict(
    fusion={'method.fusion': dict(type='EndpointsFusion')},
    memory={'method.memory': dict(size=6)},
    norms={'recipe.freeze_norm': True},
    lgkd={
        'method.losses.label_guided': dict(type='LabelGuidedDistillationLoss')
    },
    duplets={
        'method.erase': dict(type='NewClassErase'),
        'method.losses.ctx': dict(type='ContextConsistencyLoss'),
    },
    balance={'method.balance': True},
)
QUICK = {
    # Fifteen classes, then three, then two.
    'continual.task': '15-3',
    'recipe.freeze_norm': None,
    'schedule.base': dict(lr=0.005, epochs=1, batch_size=8),
    'schedule.later': dict(lr=0.005, epochs=1, batch_size=8),
}
CLASSIFIER = 'decode_head.conv_seg.weight'


@pytest.fixture(scope='module')
def base(tiny_root, tmp_path_factory) -> Path:
    """Return a work dir with step 0."""
    init_default_scope('mmseg')
    work_dir = tmp_path_factory.mktemp('base')
    cfg, options = make_tiny_config(tiny_root, 'plop', **QUICK)
    run_sequence(cfg, str(work_dir), steps=[0], options=options)
    return work_dir


@pytest.mark.parametrize(
    'pair', list(combinations(PARTS, 2)), ids=lambda pair: '+'.join(pair)
)
def test_pair_trains_two_steps(tiny_root, base, tmp_path, pair):
    changes = {k: v for name in pair for k, v in PARTS[name].items()}
    cfg, options = make_tiny_config(tiny_root, 'plop', **{**QUICK, **changes})
    results = run_sequence(
        cfg, str(tmp_path), init_from=str(base), options=options
    )
    assert [done['step'] for done in results] == [0, 1, 2]
    losses = {'loss', 'loss_ce', 'loss_pod'}
    losses |= {'loss_label_guided'} if 'lgkd' in pair else set()
    losses |= {'loss_ctx'} if 'duplets' in pair else set()
    stock = weights(base / 'step_0/final.pth')
    for step, num_seen in ((1, 19), (2, 21)):
        folder = tmp_path / f'step_{step}'
        for line in logged(folder):
            found = {key for key in line if key.startswith('loss')}
            assert found == losses
            assert all(0 <= line[key] < math.inf for key in found)
        # The checkpoint of a stock network, whatever trained it.
        content = torch.load(folder / 'final.pth', weights_only=True)
        assert set(content) == {'meta', 'state_dict'}
        state = content['state_dict']
        assert list(state) == list(stock)
        assert len(state[CLASSIFIER]) == num_seen
        trained = torch.load(folder / 'epoch_1.pth', weights_only=True)
        key = 'backbone.stem.0.weight'
        same = torch.equal(trained['state_dict'][key], state[key])
        assert same != ('fusion' in pair)
        norm = next(key for key in state if key.endswith('running_mean'))
        before = weights(tmp_path / f'step_{step - 1}/final.pth')
        moved = not torch.equal(state[norm], before[norm])
        assert moved != ('norms' in pair)
        check_memory(folder, step, 'memory' in pair)


def check_memory(folder: Path, step: int, expected: bool) -> None:
    """Six images, among them new and old ones, and none if not wanted."""
    path = folder / 'memory.json'
    assert path.exists() == expected
    if expected:
        records = json.loads(path.read_text())
        steps = {record['step'] for record in records}
        assert len(records) == 6 and steps <= set(range(step + 1))
        text = (folder / 'config.py').read_text()
        assert f'step_{step - 1}/memory.json' in text


def test_two_processes_equal_one(tiny_root, base, tmp_path):
    """Everything at once: fusion, memory, LGKD, a warm start, frozen parts.

    Norms are frozen, so that there are no batch statistics.
    """
    options = [
        f'continual.data_root={tiny_root}',
        'continual.task=15-5',
        'crop_size=(32,32)',
        'schedule.later.epochs=1',
        'schedule.later.batch_size=16',
        'schedule.later.lr=0.05',
        'recipe.warmup_iters=None',
        'recipe.frozen=[backbone.stem,backbone.layer1]',
        'method.fusion.type=EndpointsFusion',
        'method.memory.size=24',
        'method.classifier_init=attributed',
    ]
    leaf = CONFIGS / 'lgkd/rbc-lgkd_fcn-tiny_shapes-15-1-overlapped.py'
    finals, kept = [], []
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        args = ['--work-dir', folder, '--init-from', base]
        args += ['--cfg-options', *options]
        run_tool('train.py', leaf, *args, processes=processes)
        finals.append(weights(folder / 'step_1/final.pth'))
        kept.append((folder / 'step_1/memory.json').read_text())
    assert kept[0] == kept[1]
    assert_equal_weights(*finals, tolerance=1e-5)
    before = weights(base / 'step_0/final.pth')
    for key, value in before.items():
        frozen = key.startswith(('backbone.stem', 'backbone.layer1'))
        if value.is_floating_point() and value.dim() == 4:
            same = torch.equal(value, finals[0][key][: len(value)])
            assert same == (frozen or key == CLASSIFIER), key
