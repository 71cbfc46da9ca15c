"""What a step makes of transforms, segmentor and metrics of a config."""

import pytest
from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.step_parts import (
    continual_metrics,
    continual_pipeline,
    keep_labels,
    method_hooks,
)


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
        {
            t.type: t
            for t in next(
                base_datasets(out[f'{phase}_dataloader'].dataset)
            ).pipeline
        }
        for phase in ('train', 'test')
    )
    assert tuple(train['RandomResizedCrop'].crop_size) == pair
    assert test['CenterCropShortSide'].crop_size == 96
    assert tuple(out.model.data_preprocessor.size) == pair
    assert out.test_pipeline == out.test_dataloader.dataset.pipeline
    # What the user sets for one transform wins.
    key = 'train_dataloader.dataset.pipeline.2.crop_size'
    out = step_config(cfg, 0, options={key: (7, 7)})
    assert out.train_dataloader.dataset.dataset.pipeline[2].crop_size == (7, 7)


def test_list_of_evaluators():
    cfg = whole()
    cfg.val_evaluator = [cfg.val_evaluator, dict(type='IoUMetric')]
    first, second = step_config(cfg, 0, 'work').val_evaluator
    assert first.out_file == 'work/step_0/metrics.json'
    assert 'out_file' not in second


def test_segmentors_that_can_learn_step_by_step():
    cfg = whole()
    cfg.model.type = 'EncoderDecoder'
    assert step_config(cfg, 0).model.type == 'IncrementalEncoderDecoder'
    cfg.model.type = 'DepthEstimator'
    with pytest.raises(
        ValueError,
        match="model.type='DepthEstimator' cannot learn step by step",
    ):
        step_config(cfg, 0)
    cfg.model.type = 'IncrementalEncoderDecodr'
    with pytest.raises(
        ValueError, match="did you mean 'IncrementalEncoderDecoder'"
    ):
        step_config(cfg, 0)


def test_erasing_needs_its_packing():
    cfg = whole('rbc')
    names = [t.type for t in step_config(cfg, 1).train_pipeline]
    assert names[-2:] == ['NewClassErase', 'PackDupletInputs']
    base = step_config(cfg, 0).train_dataloader.dataset.dataset.pipeline
    assert 'NewClassErase' not in [t.type for t in base]
    cfg.train_dataloader.dataset.pipeline.pop()
    sentence = 'pipeline ends with RandomFlip, but its last transform must p'
    with pytest.raises(ValueError, match=sentence):
        step_config(cfg, 1)


def test_transforms_of_mmseg():
    """Ours take their places; what would change the labels is refused."""
    pipeline = [
        dict(type='LoadAnnotations', imdecode_backend='pillow'),
        dict(type='RandomFlip', prob=0.5),
        dict(type='PackSegInputs', meta_keys=('img_path',)),
    ]
    assert continual_pipeline(pipeline, 'here') == [
        dict(type='LoadContinualAnnotations', imdecode_backend='pillow'),
        dict(type='RandomFlip', prob=0.5),
        dict(type='PackDupletInputs', meta_keys=('img_path',)),
    ]
    pipeline[0]['reduce_zero_label'] = True
    with pytest.raises(ValueError, match='^here: LoadAnnotations has reduce_'):
        continual_pipeline(pipeline, 'here')


def test_what_the_tools_of_mmseg_ask_for():
    cfg = whole()
    for key in ('test_pipeline', 'custom_imports'):
        cfg.pop(key)
    found = step_config(cfg, 0)
    assert found.test_pipeline == found.test_dataloader.dataset.pipeline
    assert found.custom_imports == dict(imports=['mmseg_rbc'])


def test_hooks_of_parts():
    """Fusion needs a step before; a memory is chosen in step 0 too."""
    method = dict(
        importance=dict(type='EWC'),
        fusion=dict(type='EndpointsFusion'),
        memory=dict(size=7),
    )
    found = {
        step: [hook['type'] for hook in method_hooks(method, step, 'a.pth')]
        for step in (0, 1)
    }
    assert found[0] == ['ImportanceHook', 'MemoryHook']
    assert found[1] == ['ImportanceHook', 'FusionHook', 'MemoryHook']
    *_, last = method_hooks(method, 1, 'a.pth')
    assert last == dict(type='MemoryHook', size=7, previous='a.pth')
    assert method_hooks({}, 1, 'a.pth') == []


def test_labels_are_kept_by_parts_that_can():
    method = dict(
        criterion=dict(type='UnbiasedCrossEntropy'),
        pseudo_labeler=dict(type='ConfidencePseudoLabeler', keep_labels=False),
    )
    keep_labels(method)
    assert method['criterion']['keep_labels']
    assert not method['pseudo_labeler']['keep_labels'], 'the user wins'
    plain = dict(criterion=dict(type='PixelCrossEntropy'))
    keep_labels(plain)
    assert plain == dict(criterion=dict(type='PixelCrossEntropy'))


def test_metrics_of_any_evaluator():
    ours, other = dict(type='ContinualIoUMetric'), dict(type='IoUMetric')
    for evaluator in (ours, [other, ours], dict(metrics=[ours, other])):
        (found,) = continual_metrics(evaluator)
        assert found is ours
    assert continual_metrics(other) == continual_metrics(None) == []
