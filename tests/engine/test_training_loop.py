"""Steps that count iterations, with real Runners."""

from __future__ import annotations

import json
import multiprocessing
import re
import shutil
from pathlib import Path
from zlib import crc32

import mmseg
import pytest
from helpers import CONFIGS, Stop, assert_equal_weights, logged, weights
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

from mmseg_rbc.engine import RunConfig, run_sequence, step_config
from mmseg_rbc.engine.training_loop import counts_iterations, num_iterations

MMSEG_SCHEDULES = Path(mmseg.__file__).parent / '.mim/configs/_base_/schedules'
WORKERS = {
    'train_dataloader.num_workers': 2,
    'train_dataloader.persistent_workers': True,
}


@HOOKS.register_module()
class RecordViews(Hook):
    """Write name and checksum of everything that is shown."""

    def __init__(self) -> None:
        self.views: list[list[tuple]] = []

    def before_train_iter(self, runner, batch_idx, data_batch=None) -> None:
        shown = zip(data_batch['inputs'], data_batch['data_samples'])
        self.views.append(
            [
                (Path(s.img_path).stem, crc32(i.numpy().tobytes()))
                for i, s in shown
            ]
        )
        path = Path(runner.work_dir) / 'views.json'
        path.write_text(json.dumps(self.views))


def views(step_dir: Path) -> list:
    return json.loads((step_dir / 'views.json').read_text())


@pytest.fixture
def by_iters(tiny_config):
    """Return a config of steps of so many iterations."""

    def make(iters: int = 8, method: str = 'ft', **more):
        length = dict(epochs=None, iters=iters)
        lengths = {
            f'schedule.{part}.{key}': value
            for part in ('base', 'later')
            for key, value in length.items()
        }
        saved = {
            'default_hooks.checkpoint.interval': 3,
            'default_hooks.logger.interval': 1,
        }
        cfg, options = tiny_config(method, **lengths, **saved, **more)
        cfg.custom_hooks.append(dict(type='RecordViews'))
        return cfg, options

    return make


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp('iterations')


@pytest.fixture
def finished(folder, by_iters) -> Path:
    """Run PLOP over two steps of 8 iterations, once."""
    cfg, options = by_iters(method='plop')
    run_sequence(cfg, str(folder), options=options)
    return folder


def test_each_draw_of_an_image_differs(finished):
    """20 images in 8 batches of 8: each is drawn at least three times."""
    shown = [
        tuple(view) for batch in views(finished / 'step_1') for view in batch
    ]
    names = [name for name, _ in shown]
    assert len(shown) == 64 and len(set(names)) == 20
    assert min(names.count(name) for name in names) == 3
    assert len(set(shown)) == 64


def test_work_dir_of_iterations(finished):
    step = finished / 'step_1'
    assert [line['step'] for line in logged(step)] == list(range(1, 9))
    saved = sorted(path.name for path in step.glob('iter_*.pth'))
    assert saved == ['iter_6.pth', 'iter_8.pth'], 'two are kept'
    done = json.loads((step / 'finished.json').read_text())
    metrics = json.loads((step / 'metrics.json').read_text())
    assert done['metrics']['mIoU'] == round(metrics['mIoU']['all'], 2)
    (log,) = step.glob('*/*.log')
    assert 'restarted and continue to iterate' not in log.read_text()


def test_log_of_iterations_says_how_long_it_takes(finished):
    (log,) = (finished / 'step_0').glob('*/*.log')
    lines = [x for x in log.read_text().splitlines() if 'Iter(train)' in x]
    assert len(lines) == 8
    assert re.search(r'step 0/1  Iter\(train\) \[1/8\]', lines[0])
    assert re.search(r'  eta: \S+  .*eta of sequence: \S+$', lines[0])
    first, *_, last = logged(finished / 'step_0')
    assert last['sequence_eta'] == int(8 * last['time'])


@pytest.mark.parametrize(
    'iteration, workers', [(2, {}), (5, {}), (8, {}), (5, WORKERS)]
)
def test_stopped_and_resumed_run_ends_the_same(
    finished, by_iters, tmp_path, iteration, workers
):
    """Stopped before a checkpoint, after one, and before the last."""
    shutil.copytree(finished / 'step_0', tmp_path / 'step_0')
    cfg, options = by_iters(method='plop', **workers)
    cfg.custom_hooks.append(dict(type='StopHook', iteration=iteration))
    with pytest.raises(Stop):
        run_sequence(cfg, str(tmp_path), options=options)
    cfg, options = by_iters(method='plop', **workers)
    run_sequence(cfg, str(tmp_path), resume=True, options=options)
    start = (iteration - 1) // 3 * 3
    assert views(tmp_path / 'step_1') == views(finished / 'step_1')[start:]
    final = 'step_1/final.pth'
    assert_equal_weights(weights(tmp_path / final), weights(finished / final))
    for name in ('metrics.json', 'finished.json'):
        found, expected = (
            json.loads((run / 'step_1' / name).read_text())
            for run in (tmp_path, finished)
        )
        key = 'metrics' if name == 'finished.json' else 'IoU'
        assert found[key] == expected[key]
    assert not multiprocessing.active_children()


def test_as_many_iterations_as_epochs_have(by_iters, tiny_config, tmp_path):
    """The learning rate of an iteration is the same."""
    rates = []
    for name, (cfg, options) in dict(
        iters=by_iters(8),
        epochs=tiny_config('ft', **{'default_hooks.logger.interval': 1}),
    ).items():
        run_sequence(cfg, str(tmp_path / name), [0], options=options)
        rates.append([x['lr'] for x in logged(tmp_path / name / 'step_0')])
    assert len(rates[0]) == 8 and rates[0] == pytest.approx(rates[1])


@pytest.mark.parametrize('kind', ['20k', '40k', '80k'])
def test_schedules_of_mmseg(tiny_config, kind):
    cfg, options = mmseg_run(tiny_config, kind)
    out = step_config(cfg, 1, options=options)
    iters = 1000 * int(kind[:-1])
    assert out.train_cfg.max_iters == iters == out.param_scheduler[0].end
    assert out.train_dataloader.sampler.sampler.type == 'InfiniteSampler'
    assert out.default_hooks.checkpoint.interval == iters // 10
    assert out.log_processor.by_epoch is False
    assert num_iterations(out, 19) == iters


def mmseg_run(tiny_config, kind: str = '20k', **options):
    """Return the tiny run with a schedule of MMSeg instead of its own."""
    cfg, options = tiny_config('ft', schedule=None, **options)
    options.pop('default_hooks.checkpoint.interval')
    given = Config.fromfile(MMSEG_SCHEDULES / f'schedule_{kind}.py').to_dict()
    given['default_hooks'].pop('visualization')
    cfg.merge_from_dict(given)
    cfg.merge_from_dict(options)
    cfg.train_dataloader.batch_size = 8
    return cfg, options


def test_schedule_of_mmseg_runs_and_resumes(tiny_config, tmp_path):
    """Of 6 iterations, with an evaluation and a checkpoint every two."""
    short = {
        'train_cfg.max_iters': 6,
        'train_cfg.val_interval': 2,
        'param_scheduler.0.end': 6,
        'default_hooks.checkpoint.interval': 2,
        'default_hooks.logger.interval': 1,
    }
    for name, stop in dict(whole=None, stopped=5).items():
        cfg, options = mmseg_run(tiny_config)
        cfg.merge_from_dict(short)
        if stop:
            cfg.custom_hooks.append(dict(type='StopHook', iteration=stop))
            with pytest.raises(Stop):
                run_sequence(cfg, str(tmp_path / name), options=options)
            cfg.custom_hooks.pop()
        run_sequence(cfg, str(tmp_path / name), resume=True, options=options)
    for step in (0, 1):
        found, expected = (
            weights(tmp_path / name / f'step_{step}/final.pth')
            for name in ('stopped', 'whole')
        )
        assert_equal_weights(found, expected)
    lines = (tmp_path / 'whole/step_1').glob('*/vis_data/scalars.json')
    lines = map(json.loads, next(lines).read_text().splitlines())
    assert [x['step'] for x in lines if 'mIoU' in x] == [2, 4, 6]


def whole(**options) -> Config:
    name = 'ft_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    cfg = Config.fromfile(CONFIGS / 'ft' / name)
    cfg.merge_from_dict(options)
    return cfg


def test_ten_checkpoints_by_default():
    length = dict(epochs=None, iters=20000)
    base, later = RunConfig(whole(**{'schedule.later': length})).steps('w')[:2]
    assert base.train_cfg.max_epochs == 30
    assert base.default_hooks.checkpoint.interval == 1
    assert base.train_dataloader.sampler.sampler.type == 'DefaultSampler'
    assert later.train_cfg == dict(
        type='IterBasedTrainLoop', max_iters=20000, val_interval=20000
    )
    assert later.default_hooks.checkpoint.interval == 2000
    assert not later.default_hooks.checkpoint.by_epoch
    assert not later.default_hooks.logger.log_metric_by_epoch
    assert later.param_scheduler[0].by_epoch is False
    assert later.train_dataloader.sampler.sampler == dict(
        type='InfiniteSampler', shuffle=True
    )


def test_what_the_config_says_of_iterations_stays():
    hooks = dict(
        checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=7),
        logger=None,
    )
    own = dict(type='InfiniteSampler', shuffle=False)
    cfg = whole(schedule=None)
    cfg.train_cfg = dict(by_epoch=False, max_iters=3)
    cfg.default_hooks = hooks
    cfg.train_dataloader.sampler = own
    out = step_config(cfg, 0)
    assert out.default_hooks == hooks
    assert out.train_dataloader.sampler.sampler == own


@pytest.mark.parametrize(
    'options, sentence',
    [
        (
            {'schedule.later.iters': 9},
            'schedule.later has epochs=30 and iters=9, expected one of the '
            'two: set the other one to None',
        ),
        (
            {'schedule.base.epochs': None},
            'schedule.base is .* lacks epochs or iters',
        ),
        (
            {'train_cfg': dict(type='IterBasedTrainLoop', max_iters=9)},
            'has a schedule and train_cfg=.*write schedule = None',
        ),
    ],
)
def test_length_is_said_once(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        RunConfig(whole(**options))


def test_loops():
    assert counts_iterations(dict(type='IterBasedTrainLoop'))
    assert not counts_iterations(dict(type='EpochBasedTrainLoop'))
    assert not counts_iterations(None)
    with pytest.raises(ValueError, match="did you mean 'IterBasedTrainLoop'"):
        counts_iterations(dict(type='IterBasedTrainLop'))


def test_iterations_of_epochs():
    cfg = step_config(whole(), 1)
    assert num_iterations(cfg, 100) == 30 * 4
    assert num_iterations(cfg, 5) == 30
