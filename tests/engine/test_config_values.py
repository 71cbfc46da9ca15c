"""Values that cannot be trained with are refused before anything is built."""

import pytest
from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.config_values import check_values


def load(method: str = 'rbc', **options) -> Config:
    name = f'{method}_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    cfg = Config.fromfile(CONFIGS / method / name)
    cfg.merge_from_dict(options)
    return cfg


CROP = r'^crop_size is {}, expected one side of at least 1 pixel, .* or two'
WHOLE = '^{} is {}, expected a whole number of at least {}'
BAD = [
    *[
        ('crop_size', value, CROP.format(text))
        for value, text in [
            (0, '0'),
            (-5, '-5'),
            ('big', "'big'"),
            ((32,), r'\(32,\)'),
            (32.5, '32.5'),
            ((32, 32, 32), r'\(32, 32, 32\)'),
            ((32, 'a'), r"\(32, 'a'\)"),
            (None, 'None'),
        ]
    ],
    *[
        (key, value, WHOLE.format(key, repr(value), 1))
        for key in ('schedule.base.batch_size', 'schedule.later.epochs')
        for value in (0, -1, 1.5, 'abc')
    ],
    *[
        (f'schedule.{part}.lr', value, f'lr is {value!r}, expected a number a')
        for part, value in [
            ('base', 0),
            ('later', -0.1),
            ('base', 'high'),
            ('later', float('nan')),
        ]
    ],
    ('schedule', None, '^schedule.base is None, which lacks lr, batch_size, '),
    ('schedule.later', None, '^schedule.later is None, expected a dict with'),
    (
        'schedule.later',
        dict(lr=1, _delete_=True),
        'lacks batch_size, epochs or iters:',
    ),
    *[
        ('randomness.seed', seed, WHOLE.format('randomness.seed', text, 0))
        for seed, text in [
            (-1, '-1'),
            ('abc', "'abc'"),
            (99999999999, '99999999999'),
            (1.5, '1.5'),
            (None, 'None'),
        ]
    ],
    ('method.losses.pod.weight', 'abc', "pod.weight is 'abc', expected a num"),
    ('method.losses.pod.weight', -1, 'pod.weight is -1, .* of at least 0$'),
    ('method.losses.pod.logits_weight', -0.5, 'logits_weight is -0.5, expect'),
    ('method.losses.consistency.weight', None, 'weight is None, expected a n'),
    ('method.balance', 'yes', "^method.balance is 'yes', expected True or Fa"),
    ('method.pseudo_labeler.adaptive', 3, 'adaptive is 3, expected True or '),
    ('method.erase.duplicate', 'a', "duplicate is 'a', expected True or Fals"),
    ('recipe.clip_norm', -1, '^recipe.clip_norm is -1, .* of at least 0$'),
    ('recipe.new_rows_lr', 'fast', "^recipe.new_rows_lr is 'fast', expected"),
    ('method.memory', dict(size=0), '^method.memory.size is 0, expected a wh'),
    ('method.memory', dict(share=0.5), 'memory.size is None, expected a wh'),
    ('method.memory', dict(size=1, share=1), '^method.memory.share is 1, ex'),
    ('method.memory', dict(sise=1), "memory.sise is unknown.*'size'"),
    ('method.fusion', dict(type='EndpointsFusion', shar=1), 'shar is unknow'),
    ('recipe.warmup_iters', 1.5, '^recipe.warmup_iters is 1.5, expected a w'),
    (
        'recipe.frozen',
        'backbone',
        '^recipe.frozen is .backbone., expected a l',
    ),
    ('recipe.freeze_norm', 1, '^recipe.freeze_norm is 1, expected True or F'),
    (
        'train_dataloader.num_workers',
        0,
        '^train_dataloader.persistent_workers is True, but train_dataloader.'
        'num_workers is 0: set train_dataloader.persistent_workers=False too',
    ),
    ('val_dataloader.num_workers', -1, '^val_dataloader.num_workers is -1, '),
    ('val_dataloader.batch_size', 0, '^val_dataloader.batch_size is 0, expe'),
    ('val_dataloader.batch_size', None, 'batch_size is None, expected a who'),
    ('schedule.base.batch_size', None, 'which lacks batch_size: expected so'),
    (
        'schedule.base.epochs',
        None,
        'which lacks epochs or iters: expected something',
    ),
    ('default_hooks.logger.interval', 1.5, 'interval is 1.5, expected a who'),
    ('default_hooks.checkpoint.interval', None, 'interval is None, expected'),
    *[
        (f'default_hooks.checkpoint.{key}', 'x', f"{key} is 'x', but --resume")
        for key in ('out_dir', 'filename_tmpl')
    ],
    ('randomness.deterministic', 'yes', "^randomness.deterministic is 'yes'"),
    ('randomness.diff_rank_seed', 5, 'seed is 5, expected True or False'),
    ('env_cfg.cudnn_benchmark', 'abc', "benchmark is 'abc', expected True or"),
    ('env_cfg.mp_cfg.opencv_num_threads', 'abc', "threads is 'abc', expected"),
    ('train_dataloader.timeout', -3, 'timeout is -3, .* of at least 0$'),
    ('train_dataloader.prefetch_factor', 0, 'factor is 0, .* of at least 1$'),
    ('val_dataloader.prefetch_factor', 'a', "factor is 'a', expected a whole"),
    (
        'val_dataloader',
        dict(num_workers=0, persistent_workers=False, prefetch_factor=2),
        '^val_dataloader.prefetch_factor is 2, but val_dataloader.num_workers',
    ),
    ('load_from', 'a.pth', "^load_from is 'a.pth', .* pass --init-from, or"),
    ('resume', True, '^resume is True, but each step sets it: .* --resume'),
]


@pytest.mark.parametrize('key, value, sentence', BAD)
def test_bad_value(key, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        RunConfig(load(**{key: value}))


def test_weight_of_a_regularizer():
    with pytest.raises(ValueError, match='^method.importance.weight is -1, e'):
        RunConfig(load('ewc', **{'method.importance.weight': -1}))
    with pytest.raises(ValueError, match="method.importance.alpha is 'x', ex"):
        RunConfig(load('ewc', **{'method.importance.alpha': 'x'}))


@pytest.mark.parametrize(
    'option',
    [
        {'crop_size': 1},
        {'crop_size': [96, 128]},
        {'randomness': None},
        {'randomness.seed': 2**32 - 1},
        {'recipe.clip_norm': None, 'recipe.freeze_norm': False},
        {'method.losses.pod.weight': 0},
        {
            'train_dataloader.num_workers': 0,
            'train_dataloader.persistent_workers': False,
        },
    ],
    ids=str,
)
def test_good_values(option):
    RunConfig(load(**option))


def test_schedule_of_one_step_needs_no_later_one():
    cfg = load('joint')
    cfg.schedule.pop('later')
    RunConfig(cfg)
    with pytest.raises(ValueError, match='schedule.later is None'):
        check_values(cfg, 2)


def test_length_in_iterations():
    cfg = load()
    cfg.schedule.base = dict(lr=0.1, iters=0, batch_size=8)
    with pytest.raises(ValueError, match='schedule.base.iters is 0, expected'):
        check_values(cfg, 2)
    cfg.schedule.base.iters = 20
    check_values(cfg, 2)
