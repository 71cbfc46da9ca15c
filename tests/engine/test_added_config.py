"""The config that adds classes to a stock network."""

import pytest
import torch
from mmengine.config import Config
from stock_networks import CLASSES, blocks, stock_config, write_images

from mmseg_rbc.engine.added_config import (
    METHODS,
    added_config,
    method_parts,
    our_pipeline,
    stock_evaluation,
    stock_optimizer,
)
from mmseg_rbc.engine.recipe import RELATIVE_SWITCHES
from mmseg_rbc.engine.step_config import RunConfig
from mmseg_rbc.engine.stock import StockNetwork


def make(root, change=None, method='rbc') -> Config:
    cfg = stock_config(root, auxiliary=True)
    cfg.merge_from_dict(change or {})
    stock = StockNetwork(cfg, {}, list(CLASSES), [[0, 0, 0]] * 3)
    data = dict(type='AddedClassesDataset', values=[['car', 1]])
    metainfo = dict(classes=[*CLASSES, 'car'], palette=[[0, 0, 0]] * 4)
    schedule = dict(lr=0.1, epochs=2, batch_size=4)
    return added_config(
        stock, metainfo, data, [data], method_parts(method), schedule
    )


@pytest.mark.parametrize('method', METHODS)
def test_every_method_gives_a_config_of_two_steps(tmp_path, method):
    step = RunConfig(make(tmp_path, method=method)).step(1, previous='x.pth')
    assert step.model.type == 'IncrementalEncoderDecoder'
    assert step.model.background is False
    assert step.model.decode_head.num_classes == 4
    assert step.model.auxiliary_head.num_classes == 4
    # The recipe: frozen norms, and distances that have no scale.
    assert step.model.freeze_norm is True
    losses = (step.model.method.get('losses') or {}).values()
    relative = [x for x in losses if x['type'] in RELATIVE_SWITCHES]
    assert len(relative) == dict(plop=1, rbc=2).get(method, 0)
    assert all(loss['relative'] for loss in relative)


def test_what_a_stock_config_may_have(tmp_path):
    """Losses, samplers and weights to begin with that are not used here."""
    head = 'model.decode_head'
    change = {
        f'{head}.loss_decode': [
            dict(type='CrossEntropyLoss', class_weight=[1.0, 2.0, 3.0]),
            dict(type='DiceLoss', loss_weight=3.0),
        ],
        f'{head}.sampler': dict(type='OHEMPixelSampler'),
        f'{head}.out_channels': 3,
        'model.pretrained': 'open-mmlab://resnet18',
        'model.backbone.init_cfg': dict(type='Pretrained', checkpoint='x'),
        'custom_imports': dict(imports=['json'], allow_failed_imports=False),
    }
    cfg = make(tmp_path, change)
    assert cfg.model.decode_head.loss_decode == dict(
        type='CrossEntropyLoss', loss_weight=4.0
    )
    assert 'sampler' not in cfg.model.decode_head
    assert 'out_channels' not in cfg.model.decode_head
    assert 'pretrained' not in cfg.model
    assert 'init_cfg' not in cfg.model.backbone
    assert cfg.custom_imports.imports == ['mmseg_rbc', 'json']


def test_stock_config_without_an_optimizer(tmp_path):
    cfg = stock_config(tmp_path)
    for part, key in [
        (cfg.optim_wrapper.optimizer, 'lr'),
        (cfg, 'optim_wrapper'),
    ]:
        part.pop(key)
        with pytest.raises(ValueError, match='has no optim_wrapper.optimizer'):
            stock_optimizer(cfg)


@pytest.mark.skipif(torch.cuda.is_available(), reason='has an accelerator')
def test_mixed_precision_needs_an_accelerator(tmp_path):
    cfg = stock_config(tmp_path)
    plain = cfg.optim_wrapper.to_dict()
    cfg.optim_wrapper.update(type='AmpOptimWrapper', loss_scale='dynamic')
    assert stock_optimizer(cfg).to_dict() == plain


def test_transforms_are_those_of_the_stock_config(tmp_path):
    load = dict(type='LoadAnnotations', reduce_zero_label=True)
    crop = dict(type='RandomCrop', crop_size=(24, 24))
    found = our_pipeline([load, crop, dict(type='PackSegInputs')])
    types = [transform['type'] for transform in found]
    expected = ['LoadContinualAnnotations', 'RandomCrop', 'PackDupletInputs']
    assert types == expected
    assert 'reduce_zero_label' not in found[0]
    change = {'train_dataloader.dataset.pipeline': [load]}
    with pytest.raises(ValueError, match='no pipeline that ends with PackSeg'):
        make(tmp_path, change)


def test_stock_images_are_found_or_missed(tmp_path):
    write_images(tmp_path, blocks(3, 2, seed=1))
    cfg = stock_config(tmp_path)
    found, said = stock_evaluation(cfg)
    assert found['type'] == 'StockDataset'
    assert (found['stock']['img_suffix'], said) == ('.png', '2 images')
    (tmp_path / 'masks/1_0.png').unlink()
    assert stock_evaluation(cfg)[0] is None
    assert '1_0.png' in stock_evaluation(cfg)[1]
    cfg.val_dataloader = cfg.test_dataloader = None
    assert stock_evaluation(cfg) == (None, 'its config has no val_dataloader')
