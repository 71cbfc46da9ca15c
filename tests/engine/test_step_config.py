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
    with pytest.raises(ValueError, match='has no continual.task: write'):
        step_config(load('continual_shapes.py'), 0)


def whole(method: str = 'ft') -> Config:
    name = f'{method}_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    return Config.fromfile(CONFIGS / method / name)


@pytest.mark.parametrize('size', [(96, 128), 96])
def test_one_crop_size_reaches_everything(size):
    cfg = whole()
    cfg.crop_size = size
    out = step_config(cfg, 0)
    pair = (96, 96) if size == 96 else size
    train, test = (
        {t.type: t for t in out[f'{phase}_dataloader'].dataset.pipeline}
        for phase in ('train', 'test')
    )
    assert tuple(train['RandomResizedCrop'].crop_size) == pair
    assert test['CenterCropShortSide'].crop_size == 96
    assert tuple(out.model.data_preprocessor.size) == pair
    assert out.test_pipeline == out.test_dataloader.dataset.pipeline
    # What the user sets for one transform wins.
    key = 'train_dataloader.dataset.pipeline.2.crop_size'
    out = step_config(cfg, 0, options={key: (7, 7)})
    assert out.train_dataloader.dataset.pipeline[2].crop_size == (7, 7)


def test_joint_learns_all_classes_of_the_task_at_once():
    cfg = whole('joint')
    out = step_config(cfg, 0)
    assert out.train_dataloader.dataset.task == 'offline'
    assert out.val_evaluator.num_base == 16
    cfg.continual.task = [['dog', 'cat'], ['cow'], ['bus']]
    out = step_config(cfg, 0)
    assert out.train_dataloader.dataset.task == [['dog', 'cat', 'cow', 'bus']]
    assert out.model.decode_head.num_classes == 5
    assert out.val_evaluator.num_base == 3


def test_importance_becomes_a_hook_in_all_steps():
    for step in (0, 1):
        hooks = step_config(whole('ewc'), step, previous='x').custom_hooks
        assert hooks[-1].type == 'ImportanceHook'
        assert hooks[-1].regularizer.type == 'EWC'
    assert 'importance' not in step_config(whole('ewc'), 1).model.method


def test_list_of_evaluators():
    cfg = whole()
    cfg.val_evaluator = [cfg.val_evaluator, dict(type='IoUMetric')]
    first, second = step_config(cfg, 0, 'work').val_evaluator
    assert first.out_file == 'work/step_0/metrics.json'
    assert 'out_file' not in second
