"""Whole sequences with real Runners."""

import json
import multiprocessing
import re
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import mmengine
import pytest
import torch
from helpers import (
    Stop,
    assert_equal_weights,
    logged,
    weights,
)
from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.runner import Runner

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.config_parts import PARTS


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    """Run a whole RBC sequence once and share its work dir."""
    return tmp_path_factory.mktemp('finished')


@pytest.fixture
def rbc_run(finished, tiny_config):
    cfg, options = tiny_config('rbc')
    results = run_sequence(cfg, str(finished), options=options)
    return finished, cfg, options, results


def test_work_dir(rbc_run):
    work_dir, cfg, _, results = rbc_run
    summary = json.loads((work_dir / 'summary.json').read_text())
    assert [s['step'] for s in summary['steps']] == [0, 1]
    assert summary['steps'] == results
    for step in (0, 1):
        folder = work_dir / f'step_{step}'
        metrics = json.loads((folder / 'metrics.json').read_text())
        assert metrics['step'] == step and metrics['num_images'] == 6
        assert len(metrics['IoU']) == (16 if step == 0 else 21)
        assert ('new' in metrics['mIoU']) == (step == 1)
        done = json.loads((folder / 'finished.json').read_text())
        assert done['metrics']['mIoU'] == round(metrics['mIoU']['all'], 2)
        pinned = Config.fromfile(folder / 'config.py')
        assert pinned.model.decode_head.num_classes == len(metrics['IoU'])
        assert not set(PARTS) & set(pinned)
        (scalars,) = folder.glob('*/vis_data/scalars.json')
        lines = [json.loads(x) for x in scalars.read_text().splitlines()]
        assert [x['epoch'] for x in lines if 'loss' in x] == [1, 2]
        assert done['seconds'] > 0 and done['peak_memory_mb'] > 10
        assert done['seed'] == 0 and done['versions']['torch']


def test_finished_steps_are_skipped(rbc_run):
    work_dir, cfg, options, results = rbc_run
    stamp = (work_dir / 'step_0/final.pth').stat().st_mtime_ns
    again = run_sequence(cfg, str(work_dir), options=options)
    assert again == results
    assert (work_dir / 'step_0/final.pth').stat().st_mtime_ns == stamp


def test_other_settings_of_a_finished_step(rbc_run, tiny_config, capsys):
    work_dir, *_, results = rbc_run
    changes = {'schedule.later.epochs': 9, 'randomness.seed': 5}
    cfg, options = tiny_config('rbc', **changes)
    MMLogger.get_instance('settings', log_level='INFO')
    assert run_sequence(cfg, str(work_dir), options=options) == results
    lines = ''.join(capsys.readouterr()).splitlines()
    base, text = [t for t in lines if 'trained with other settings' in t]
    assert 'step 0 was trained with other settings in seed: ' in base
    assert 'step 1' in text and 'train_cfg' in text and 'seed' in text
    assert 'optim_wrapper' not in text and 'another --work-dir' in text


def test_checkpoint_is_one_plain_network(rbc_run):
    """It runs in stock MMSeg with the same result and has its size."""
    work_dir, cfg, _, results = rbc_run
    path = work_dir / 'step_1/final.pth'
    content = torch.load(path, weights_only=True)
    assert set(content) == {'meta', 'state_dict'}
    step = Config.fromfile(work_dir / 'step_1/config.py')
    for key in ('method', 'previous', 'freeze_norm'):
        step.model.pop(key)
    step.model.type = 'EncoderDecoder'
    step.work_dir = str(work_dir / 'stock')
    step.load_from = str(path)
    runner = Runner.from_cfg(step)
    assert set(content['state_dict']) == set(runner.model.state_dict())
    size = sum(
        v.numel() * v.element_size() for v in content['state_dict'].values()
    )
    assert path.stat().st_size < size * 1.2 + 100_000
    metrics = runner.test()
    assert metrics['mIoU'] == results[1]['metrics']['mIoU']


def test_pinned_config_runs_with_tools_of_mmseg(rbc_run, tmp_path):
    """A Runner on the pinned config trains step 1 to the same weights."""
    work_dir, *_ = rbc_run
    step = Config.fromfile(work_dir / 'step_1/config.py')
    step.work_dir = str(tmp_path)
    Runner.from_cfg(step).train()
    again = torch.load(tmp_path / 'epoch_2.pth', weights_only=True)
    assert_equal_weights(
        again['state_dict'], weights(work_dir / 'step_1/final.pth')
    )
    assert again['message_hub']['runtime_info']['pseudo_label_thresholds']


@pytest.mark.parametrize('iteration', [1, 5, 6, 10])
def test_stopped_and_resumed_run_ends_the_same(
    rbc_run, tiny_config, tmp_path, iteration
):
    """Stop step 1 (2 epochs of 5 iterations) after any iteration."""
    work_dir, *_ = rbc_run
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    cfg, options = tiny_config('rbc')
    cfg.custom_hooks.append(dict(type='StopHook', iteration=iteration))
    with pytest.raises(Stop):
        run_sequence(cfg, str(tmp_path), options=options)
    cfg, options = tiny_config('rbc')
    assert not (tmp_path / 'step_1/finished.json').exists()
    # A moved work dir resumes as well.
    moved = tmp_path.parent / (tmp_path.name + '_moved')
    tmp_path.rename(moved)
    run_sequence(cfg, str(moved), resume=True, options=options)
    assert_equal_weights(
        weights(moved / 'step_1/final.pth'),
        weights(work_dir / 'step_1/final.pth'),
    )
    log = ''.join(p.read_text() for p in moved.glob('step_1/*/*.log'))
    assert ('resumed epoch: 1' in log) == (iteration > 5)


def test_restart_within_a_second_logs_into_its_own_folder(
    rbc_run, tiny_config, tmp_path, monkeypatch
):
    """MMEngine keeps visualizers and loggers by name and second."""
    work_dir, *_ = rbc_run
    # The clock of the Runner's time stamps stands still.
    clock = SimpleNamespace(**{**vars(time), 'time': lambda: 1e9})
    monkeypatch.setattr(mmengine.runner.runner, 'time', clock)
    shutil.copytree(work_dir / 'step_0', tmp_path / 'a/step_0')
    every = {'default_hooks.logger.interval': 1}
    cfg, options = tiny_config('ft', **every)
    cfg.custom_hooks.append(dict(type='StopHook', iteration=3))
    with pytest.raises(Stop):
        run_sequence(cfg, str(tmp_path / 'a'), options=options)
    (tmp_path / 'a').rename(tmp_path / 'b')
    cfg, options = tiny_config('ft', **every)
    run_sequence(cfg, str(tmp_path / 'b'), resume=True, options=options)
    assert not (tmp_path / 'a').exists()
    # Two epochs of two iterations: one was logged before the stop in the
    # second epoch, the resumed run begins it again.
    iterations = [line['step'] for line in logged(tmp_path / 'b/step_1')]
    assert iterations == [1, 2, 3, 4]
    (log,) = (tmp_path / 'b/step_1').glob('*/*.log')
    assert 'resumed epoch: 1' in log.read_text()


def test_kill_before_the_mark_repeats_only_the_evaluation(rbc_run, tmp_path):
    work_dir, cfg, options, results = rbc_run
    shutil.copytree(work_dir, tmp_path, dirs_exist_ok=True)
    (tmp_path / 'step_1/finished.json').unlink()
    again = run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert [a['metrics'] for a in again] == [r['metrics'] for r in results]
    logs = sorted((tmp_path / 'step_1').glob('*/*.log'))
    assert 'Epoch(train)' not in logs[-1].read_text()


def test_step_0_is_shared(rbc_run, tiny_config, tmp_path):
    work_dir, *_ = rbc_run
    cfg, options = tiny_config('ft')
    source = str(work_dir / 'step_0/final.pth')
    run_sequence(cfg, str(tmp_path), init_from=source, options=options)
    assert_equal_weights(
        weights(tmp_path / 'step_0/final.pth'), weights(Path(source))
    )
    assert not list(tmp_path.glob('step_0/epoch_*.pth'))
    cfg.continual.setting = 'disjoint'
    with pytest.raises(ValueError, match="was trained with setting 'overlap"):
        run_sequence(cfg, str(tmp_path / 'y'), init_from=source)
    with pytest.raises(FileNotFoundError, match='--init-from: .* not exist'):
        run_sequence(cfg, str(tmp_path / 'x'), init_from='nowhere')


def test_later_step_takes_a_given_step_0_first(rbc_run, tiny_config, tmp_path):
    """--step 1 --init-from."""
    work_dir, *_ = rbc_run
    cfg, options = tiny_config('ft')
    results = run_sequence(
        cfg,
        str(tmp_path / 'run'),
        steps=[1],
        init_from=str(work_dir),
        options=options,
    )
    assert [result['step'] for result in results] == [0, 1]
    assert results[0]['adopted'] and not results[1]['adopted']


@pytest.mark.parametrize('step', [-1, 2])
def test_step_that_the_task_has_not(tiny_config, tmp_path, step):
    """It is found if nothing is trained, too."""
    cfg, options = tiny_config('ft')
    how = dict(steps=[step], options=options, check_only=True)
    with pytest.raises(ValueError, match=f'steps 0 to 1, got step {step}'):
        run_sequence(cfg, str(tmp_path), **how)


def test_step_without_predecessor(tiny_config, tmp_path):
    cfg, options = tiny_config('ft')
    with pytest.raises(FileNotFoundError, match='step 1 starts from step 0'):
        run_sequence(cfg, str(tmp_path), steps=[1], options=options)


@pytest.mark.parametrize(
    'change, sentence',
    [
        ({'continual.task': '10-10'}, 'is of classes'),
        ({'continual.setting': 'disjoint'}, "setting 'overlapped'"),
        ({'continual.order': 'b'}, 'is of classes'),
        (dict(method='plop'), 'step_1/finished.json is of method '),
    ],
)
def test_work_dir_of_another_task(rbc_run, tiny_config, change, sentence):
    work_dir, *_ = rbc_run
    cfg, options = tiny_config(**{'method': 'rbc', **change})
    with pytest.raises(ValueError, match=sentence + '.*another --work-dir'):
        run_sequence(cfg, str(work_dir), options=options)


def test_invalid_loss_stops_and_the_work_dir_stays_usable(
    rbc_run, tiny_config, tmp_path
):
    work_dir, *_ = rbc_run
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    cfg, options = tiny_config('ft', **{'schedule.later.lr': 1e30})
    with pytest.raises(FloatingPointError, match='step 1: the loss is not f'):
        run_sequence(cfg, str(tmp_path), options=options)
    cfg, options = tiny_config('ft')
    results = run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert len(results) == 2


def test_few_images_shrink_the_batch(tiny_config, tmp_path):
    cfg, options = tiny_config(
        'ft', **{'schedule.base.batch_size': 64, 'schedule.base.epochs': 1}
    )
    run_sequence(cfg, str(tmp_path), steps=[0], options=options)
    pinned = Config.fromfile(tmp_path / 'step_0/config.py')
    assert pinned.train_dataloader.batch_size == 38


def test_log_names_step_and_time_left(rbc_run):
    work_dir, *_ = rbc_run
    (log,) = (work_dir / 'step_0').glob('*/*.log')
    lines = [x for x in log.read_text().splitlines() if 'Epoch(train)' in x]
    assert re.search(r'step 0/1  Epoch\(train\) +\[1\]\[4/4\]', lines[0])
    (step,) = re.findall(r'  eta: 0:00:(\d+)  ', lines[0])
    (sequence,) = re.findall(r'  eta of sequence: 0:00:(\d+)$', lines[0])
    assert int(sequence) >= int(step)


def test_tensorboard_of_each_step(rbc_run, tiny_config, tmp_path):
    """A further backend of MMEngine's visualizer works unchanged."""
    work_dir, *_ = rbc_run
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    backends = [dict(type='LocalVisBackend')]
    backends.append(dict(type='TensorboardVisBackend'))
    cfg, options = tiny_config('ft', **{'visualizer.vis_backends': backends})
    run_sequence(cfg, str(tmp_path), options=options)
    (events,) = (tmp_path / 'step_1').glob('*/vis_data/events.out.*')
    assert b'loss_ce' in events.read_bytes()


def test_workers_end_with_their_step(rbc_run, tiny_config, tmp_path):
    """Persistent workers would wait for seconds before they end."""
    work_dir, *_ = rbc_run
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    workers = dict(num_workers=1, persistent_workers=True)
    options = {
        f'{phase}_dataloader.{key}': value
        for phase in ('train', 'val')
        for key, value in workers.items()
    }
    cfg, options = tiny_config('ft', **options)
    assert not multiprocessing.active_children()
    run_sequence(cfg, str(tmp_path), options=options)
    assert not multiprocessing.active_children()
