"""Parts of a config that are no dicts or lists are refused in a sentence."""

from functools import reduce
from operator import getitem

import pytest
from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.engine.config_kinds import (
    DICTS,
    NEEDED,
    NEEDED_TO_TRAIN,
    PARTS_OR_LISTS,
    check_kinds,
)


def load(key: str = '', value=None) -> Config:
    name = 'ewc_fcn-tiny_shapes-15-1-overlapped.py'
    cfg = Config.fromfile(CONFIGS / 'ewc' / name)
    if key:
        *parents, last = key.split('.')
        reduce(getitem, parents, cfg)[last] = value
    return cfg


@pytest.mark.parametrize('value', ['abc', 3, [1, 'a']], ids=str)
@pytest.mark.parametrize('key', DICTS)
def test_what_must_be_a_dict(key, value):
    with pytest.raises(ValueError) as info:
        check_kinds(load(key, value))
    assert str(info.value) == f'{key} is {value!r}, expected a dict'


@pytest.mark.parametrize('value', ['abc', 3, [1, 'a']], ids=str)
@pytest.mark.parametrize('key', PARTS_OR_LISTS)
def test_what_must_be_a_dict_or_several(key, value):
    with pytest.raises(ValueError) as info:
        check_kinds(load(key, value))
    end = ', expected a dict, or a list of dicts'
    assert str(info.value) == f'{key} is {value!r}{end}'


@pytest.mark.parametrize('key', [*NEEDED, *NEEDED_TO_TRAIN])
def test_what_is_needed(key):
    with pytest.raises(
        ValueError, match=f'^{key} is .*None, but every step i'
    ):
        check_kinds(load(key))


@pytest.mark.parametrize(
    'key, value, sentence',
    [
        ('continual.data_root', 3, '^continual: data_root is 3, expected a p'),
        (
            'continual.data_prefix.img_path',
            [],
            r'img_path is \[\], expected a',
        ),
        ('train_dataloader.dataset.ann_file', 1.5, 'ann_file is 1.5, expect'),
        ('val_dataloader.dataset.pipeline', [], '^val_.*dataset has no pipel'),
        ('train_dataloader.dataset', dict(datasets=[3]), '^3 is no data set'),
        ('log_level', 'LOUD', "^log_level is 'LOUD', expected one of CRITICA"),
        (
            'model.test_cfg.mode',
            'half',
            "mode is 'half', expected one of slid",
        ),
        ('default_scope', 'mmdet', "is 'mmdet', expected one of mmseg"),
        (
            'continual.img_suffix',
            3,
            'img_suffix is 3, expected an end of fi',
        ),
        ('continual.indices', 'abc', "indices is 'abc', expected a number of"),
        ('continual.backend_args', 3, 'backend_args is 3, expected a dict'),
        ('env_cfg.mp_cfg.mp_start_method', 1, 'is 1, expected one of fork, '),
    ],
)
def test_texts_and_choices(key, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_kinds(load(key, value))


def test_good_configs():
    cfg = load()
    check_kinds(cfg)
    for key in ('randomness', 'visualizer', 'custom_hooks', 'recipe'):
        check_kinds(load(key))
    dataset = cfg.train_dataloader.dataset
    cfg.train_dataloader.dataset = dict(
        type='RepeatDataset', times=2, dataset=dataset
    )
    check_kinds(cfg)
    check_kinds(Config(dict(train_dataloader=dict(dataset=dataset))))
