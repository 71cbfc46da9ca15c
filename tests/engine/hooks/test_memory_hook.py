"""Memory in real runs: resumed, adopted, with labels that are kept."""

import json
import shutil

import pytest
import torch
from helpers import Stop, assert_equal_weights, weights
from mmengine.config import Config
from mmseg.registry import DATASETS

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.training_loop import num_iterations

LATER = dict(lr=0.01, epochs=2, batch_size=16)


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp('memory')


@pytest.fixture
def config(tiny_config):
    def load(**changes) -> tuple:
        small = {'method.memory.size': 24, 'schedule.base.epochs': 1}
        small['schedule.later'] = LATER
        return tiny_config('rbc-m', **{**small, **changes})

    return load


@pytest.fixture
def finished(runs, config):
    cfg, options = config()
    run_sequence(cfg, str(runs), options=options)
    return runs


def memory(folder) -> list[dict]:
    return json.loads((folder / 'memory.json').read_text())


def test_what_is_kept(finished):
    for step in (0, 1):
        records = memory(finished / f'step_{step}')
        assert len(records) == 24
        assert {record['step'] for record in records} == set(range(step + 1))
    pinned = Config.fromfile(finished / 'step_1/config.py')
    dataset = DATASETS.build(pinned.train_dataloader.dataset)
    assert len(dataset) == 20 + 24
    # Of 8 draws for 16 views 4 are of the step: 5 iterations an epoch.
    assert pinned.train_dataloader.batch_size == 8
    assert num_iterations(pinned, 20) == 10
    last = torch.load(finished / 'step_1/epoch_2.pth', weights_only=True)
    assert last['meta']['iter'] == 10
    method = pinned.model.method
    assert method.pseudo_labeler.keep_labels
    assert 'keep_labels' not in method.criterion


LENGTHS = dict(
    epochs=LATER,
    iterations=dict(lr=0.01, iters=6, epochs=None, batch_size=16),
)


@pytest.mark.parametrize('length, stop', [('epochs', 7), ('iterations', 4)])
def test_stopped_and_resumed_run_ends_the_same(
    finished, config, tmp_path, length, stop
):
    """In a moved work dir: the memory is that of the new place."""
    later = {'schedule.later': LENGTHS[length]}
    whole, stopped, moved = (tmp_path / name for name in 'abc')
    for folder in (whole, stopped):
        shutil.copytree(finished / 'step_0', folder / 'step_0')
    cfg, options = config(**later)
    run_sequence(cfg, str(whole), options=options)
    cfg, options = config(**later)
    cfg.custom_hooks.append(dict(type='StopHook', iteration=stop))
    with pytest.raises(Stop):
        run_sequence(cfg, str(stopped), options=options)
    stopped.rename(moved)
    cfg, options = config(**later)
    run_sequence(cfg, str(moved), resume=True, options=options)
    ends = [whole / 'step_1', moved / 'step_1']
    assert_equal_weights(*(weights(end / 'final.pth') for end in ends))
    assert memory(ends[0]) == memory(ends[1])
    logs = ''.join(p.read_text() for p in ends[1].glob('*/*.log'))
    assert 'resumed epoch: 1' in logs or 'resumed epoch: 0, iter: ' in logs


def test_an_adopted_step_0_has_a_memory(
    finished, config, tiny_config, tmp_path
):
    cfg, options = tiny_config('ft', **{'schedule.base.epochs': 1})
    run_sequence(cfg, str(tmp_path / 'ft'), steps=[0], options=options)
    assert not (tmp_path / 'ft/step_0/memory.json').exists()
    cfg, options = config()
    source = str(tmp_path / 'ft')
    work_dir = str(tmp_path / 'm')
    run_sequence(cfg, work_dir, steps=[0], init_from=source, options=options)
    assert memory(tmp_path / 'm/step_0') == memory(finished / 'step_0')


def test_few_images_shrink_the_batch(finished, config, tmp_path):
    """A batch of 50 draws has 25 of the step, which has 20."""
    shutil.copytree(finished / 'step_0', tmp_path / 'step_0')
    later = dict(lr=0.01, epochs=1, batch_size=100)
    cfg, options = config(**{'schedule.later': later})
    run_sequence(cfg, str(tmp_path), options=options)
    pinned = Config.fromfile(tmp_path / 'step_1/config.py')
    assert pinned.train_dataloader.batch_size == 40
    last = torch.load(tmp_path / 'step_1/epoch_1.pth', weights_only=True)
    assert last['meta']['iter'] == 1
