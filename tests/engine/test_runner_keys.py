"""Keys that MMEngine would ignore, or stumble over late, are refused."""

import inspect
import re
from functools import reduce
from operator import getitem

import pytest
from helpers import CONFIGS
from mmengine.config import Config
from mmengine.runner import Runner

from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.runner_keys import check_runner_keys, top_keys


def load(step: int = 1, **options) -> Config:
    """Return a config of a step with options, before draws are numbered."""
    name = 'rbc_fcn-tiny_shapes-15-1-overlapped.py'
    cfg = step_config(Config.fromfile(CONFIGS / 'rbc' / name), step)
    loader = cfg.train_dataloader
    loader.dataset = loader.dataset.dataset
    loader.sampler = loader.sampler.sampler
    cfg.merge_from_dict(options)
    return cfg


LOADER = 'train_dataloader'
UNKNOWN = [
    ('randomness.sed', 1, 'seed'),
    ('randomness.determinstic', True, 'deterministic'),
    ('env_cfg.cudnn_benchmarks', True, 'cudnn_benchmark'),
    ('env_cfg.mp_cfg.mp_start_methd', 'fork', 'mp_start_method'),
    ('default_hooks.checkpoint.intervall', 5, 'interval'),
    ('default_hooks.checkpoint.max_keep_ckpt', 5, 'max_keep_ckpts'),
    ('default_hooks.chekpoint.interval', 5, 'checkpoint'),
    ('default_hooks.logger.intervl', 5, 'interval'),
    ('default_hooks.timmer', dict(type='IterTimerHook'), 'timer'),
    ('optim_wrapper.clip_gard', dict(max_norm=1), 'clip_grad'),
    ('optim_wrapper.clip_grad', dict(maxnorm=1), 'max_norm'),
    ('optim_wrapper.optimizer.momentun', 0.5, 'momentum'),
    ('optim_wrapper.paramwise_cfg', dict(bias_lr=2), 'bias_lr_mult'),
    (
        'optim_wrapper.paramwise_cfg',
        dict(custom_keys=dict(backbone=dict(lr_mul=0.1))),
        'lr_mult',
    ),
    ('model.backbone.init_cfg', dict(type='Constant', vall=3), 'val'),
    (f'{LOADER}.num_worker', 2, 'num_workers'),
    (f'{LOADER}.sampler.shufle', True, 'shuffle'),
    (f'{LOADER}.dataset.anfile', 'a.txt', 'ann_file'),
    (f'{LOADER}.dataset.pipeline.2.crop_sice', 3, 'crop_size'),
    ('val_dataloader.batch_sise', 2, 'batch_size'),
    ('train_cfg.max_epoch', 2, 'max_epochs'),
    ('val_cfg.fp61', True, 'fp16'),
    ('val_evaluator.backgound', False, 'background'),
    ('model.backbon', dict(type='ResNet'), 'backbone'),
    ('model.backbone.dept', 18, 'depth'),
    ('model.decode_head.chanels', 8, 'channels'),
    ('model.data_preprocessor.meen', [1, 2, 3], 'mean'),
    ('param_scheduler.1.pwer', 0.5, 'power'),
    ('log_processor.window_sice', 5, 'window_size'),
    ('visualizer.alfa', 0.5, 'alpha'),
]


@pytest.mark.parametrize('key, value, nearest', UNKNOWN)
def test_unknown_key_is_refused_with_the_nearest(key, value, nearest):
    with pytest.raises(ValueError) as info:
        check_runner_keys(load(**{key: value}))
    found = re.match(
        r'(\S+) is unknown: did you mean (.*)\?;', str(info.value)
    )
    assert found and found[2] == repr(nearest)
    assert key.startswith(found[1]) or found[1].startswith(key)


UNREGISTERED = [
    ('optim_wrapper.type', 'OptimWraper', 'OptimWrapper'),
    ('optim_wrapper.optimizer.type', 'SDG', 'SGD'),
    (f'{LOADER}.sampler.type', 'DefaultSamler', 'DefaultSampler'),
    (f'{LOADER}.dataset.pipeline.3.type', 'RandomFlp', 'RandomFlip'),
    ('train_cfg.type', 'EpochBasedLoop', 'EpochBasedTrainLoop'),
    ('val_evaluator.type', 'ContinualIoU', 'ContinualIoUMetric'),
    ('model.backbone.type', 'ResNeet', 'ResNet'),
    ('model.decode_head.type', 'FCNHed', 'FCNHead'),
    ('model.backbone.init_cfg.type', 'Pretraned', 'Pretrained'),
    ('custom_hooks.0.type', 'TorchSeedHok', 'TorchSeedHook'),
    ('visualizer.type', 'SegLocalVisualiser', 'SegLocalVisualizer'),
]


@pytest.mark.parametrize('key, value, nearest', UNREGISTERED)
def test_unregistered_part_is_refused_with_the_nearest(key, value, nearest):
    sentence = f"^{key}='{value}' is not registered: did you mean '{nearest}'"
    with pytest.raises(ValueError, match=sentence):
        check_runner_keys(load(**{key: value}))


@pytest.mark.parametrize(
    'key, value, sentence',
    [
        ('randomness', 3, '^randomness is 3, expected a dict with some of '),
        ('custom_hooks', 'abc', "^custom_hooks is 'abc', expected a list of"),
        ('custom_hooks', [dict(interval=3)], '^custom_hooks.0 is .*a type'),
        (
            'optim_wrapper.optimizer',
            'SGD',
            "^optim_wrapper.optimizer is 'SGD'",
        ),
        ('optim_wrapper.clip_grad', 5, '^optim_wrapper.clip_grad is 5, exp'),
        (f'{LOADER}.dataset.pipeline', [7], 'pipeline.0 is 7, expected a dic'),
        (
            'model.backbone.init_cfg',
            'abc',
            "^model.backbone.init_cfg is 'ab",
        ),
        (
            'custom_hooks.0.priority',
            'abc',
            "^custom_hooks.0.priority is 'ab",
        ),
        ('default_hooks.timer.priority', 101, 'timer.priority is 101, expec'),
        (
            'train_cfg.val_interval',
            0,
            '^train_cfg.val_interval is 0, expec',
        ),
        ('train_cfg.max_epochs', 1.5, 'max_epochs is 1.5, expected a whole n'),
        (
            'optim_wrapper.clip_grad',
            dict(max_norm='a'),
            "^optim_wrapper.clip_grad.max_norm is 'a', expected a number abo",
        ),
        ('optim_wrapper.clip_grad', dict(max_norm=-1), 'max_norm is -1, expe'),
        (
            'optim_wrapper.clip_grad',
            dict(max_norm=1, norm_type='x'),
            "norm_type is 'x', expected a number above 0",
        ),
        (
            'optim_wrapper.clip_grad',
            dict(_delete_=True, type='value', clip_value='a'),
            "clip_value is 'a', expected a number above 0",
        ),
        (
            'optim_wrapper.clip_grad',
            dict(_delete_=True, norm_type=2),
            'max_norm is None, expected a number above 0',
        ),
        ('default_hooks.timer', 'x', "default_hooks.timer is 'x', expected a"),
    ],
)
def test_part_of_another_kind(key, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_runner_keys(load(**{key: value}))


# Of a part of a network: a multiple, and an option of its parameter group.
PART = dict(lr_mult=0.1, momentum=0.5)


@pytest.mark.parametrize(
    'option',
    [
        {'default_hooks.timer': None},
        {'default_hooks.timer.priority': 'low'},
        {'optim_wrapper.clip_grad': dict(max_norm=1, norm_type='inf')},
        {'model.backbone.init_cfg': [dict(type='Kaiming', layer='Conv2d')]},
        {'default_hooks.mine': dict(type='EMAHook', priority=3)},
        {'default_hooks.checkpoint.save_best': 'mIoU'},
        {'optim_wrapper.paramwise_cfg': dict(custom_keys=dict(a=PART))},
        {'optim_wrapper.clip_grad': dict(type='value', clip_value=1.0)},
        {'train_cfg': dict(by_epoch=False, max_iters=7)},
        {'val_evaluator': [dict(type='IoUMetric')]},
        {'val_evaluator': dict(metrics=[dict(type='IoUMetric')])},
        {'model.auxiliary_head': [dict(type='FCNHead', in_channels=3)]},
        {'model.decode_head.loss_decode': dict(type='CrossEntropyLoss')},
        {'randomness': None},
        {'param_scheduler': dict(type='PolyLR', convert_to_iter_based=True)},
    ],
    ids=str,
)
def test_what_mmengine_takes_passes(option):
    cfg = load()
    for key, value in option.items():
        *parents, last = key.split('.')
        reduce(getitem, parents, cfg)[last] = value
    check_runner_keys(cfg)


def test_data_sets_inside_wrappers():
    cfg = load()
    inner = cfg.train_dataloader.dataset
    inner.ann = 'a.txt'
    several = dict(type='ConcatDataset', datasets=[inner])
    wrapped = dict(type='RepeatDataset', times=2, dataset=several)
    cfg.train_dataloader.dataset = wrapped
    where = f'^{LOADER}.dataset.dataset.datasets.0.ann is unknown'
    with pytest.raises(ValueError, match=where):
        check_runner_keys(cfg)


def test_top_keys_are_those_of_the_runner():
    assert 'self' not in top_keys() and 'cfg' not in top_keys()
    names = set(inspect.signature(Runner.from_cfg).parameters)
    assert names == {'cfg'}, 'what it reads is what __init__ takes'
    assert {'optim_wrapper', 'randomness', 'custom_imports'} <= top_keys()


def test_options_reach_the_check():
    name = 'rbc_fcn-tiny_shapes-15-1-overlapped.py'
    cfg = Config.fromfile(CONFIGS / 'rbc' / name)
    with pytest.raises(ValueError, match='train_cfg.max_epoch is unknown'):
        step_config(cfg, 0, options={'train_cfg.max_epoch': 3})
