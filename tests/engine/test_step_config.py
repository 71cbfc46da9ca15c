from pathlib import Path

import pytest
from mmengine.config import Config

from mmseg_rbc.engine import step_config

CONFIGS = Path(__file__).parents[2] / 'configs'


def load(name: str, **continual) -> Config:
    cfg = Config.fromfile(CONFIGS / '_base_/datasets' / name)
    if continual:
        cfg.continual = continual
    return cfg


def test_task_and_step_reach_every_dataset():
    cfg = load('continual_voc12aug.py', task='15-1', setting='disjoint')
    out = step_config(cfg, 2)
    for phase in ('train', 'val', 'test'):
        dataset = out[f'{phase}_dataloader'].dataset
        assert dataset.task == '15-1' and dataset.setting == 'disjoint'
        assert dataset.step == 2
        assert dataset.test_mode == (phase != 'train')
    assert 'step' not in cfg.train_dataloader.dataset


def test_wrapped_datasets():
    cfg = load('continual_voc12aug.py', task='15-1')
    inner = cfg.train_dataloader.dataset
    wrapped = dict(type='ConcatDataset', datasets=[inner, inner])
    cfg.train_dataloader.dataset = dict(
        type='RepeatDataset', times=2, dataset=wrapped
    )
    out = step_config(cfg, 3).train_dataloader.dataset
    assert [d.step for d in out.dataset.datasets] == [3, 3]
    assert 'step' not in out


def test_missing_task():
    with pytest.raises(ValueError, match='has no continual.task: inherit'):
        step_config(load('continual_shapes.py'), 0)
