"""Other backbones, necks and heads train two steps."""

import json
import math
from pathlib import Path

import pytest
import torch
from helpers import assert_equal_weights, logged, make_tiny_config, weights
from mmengine.registry import init_default_scope

from mmseg_rbc.engine import run_sequence

NORM = dict(type='BN')
NETWORKS = dict(
    mobilenet_v2_aspp=dict(
        backbone=dict(
            _delete_=True,
            type='MobileNetV2',
            widen_factor=0.1,
            strides=(1, 2, 2, 2, 1, 1, 1),
            out_indices=(1, 2, 4, 6),
            norm_cfg=NORM,
        ),
        decode_head=dict(
            _delete_=True,
            type='ASPPHead',
            in_channels=32,
            in_index=3,
            channels=16,
            dilations=(1, 2, 3),
            dropout_ratio=0.1,
            num_classes=1,
            norm_cfg=NORM,
            align_corners=False,
        ),
    ),
    segformer_mit=dict(
        backbone=dict(
            _delete_=True,
            type='MixVisionTransformer',
            in_channels=3,
            embed_dims=8,
            num_stages=4,
            num_layers=[1, 1, 1, 1],
            num_heads=[1, 1, 1, 1],
            patch_sizes=[7, 3, 3, 3],
            sr_ratios=[8, 4, 2, 1],
            out_indices=(0, 1, 2, 3),
            mlp_ratio=2,
            drop_path_rate=0.1,
        ),
        decode_head=dict(
            _delete_=True,
            type='SegformerHead',
            in_channels=[8, 8, 8, 8],
            in_index=[0, 1, 2, 3],
            channels=16,
            dropout_ratio=0.1,
            num_classes=1,
            norm_cfg=NORM,
            align_corners=False,
        ),
    ),
    fpn_neck=dict(
        neck=dict(
            type='FPN', in_channels=[16, 32], out_channels=8, num_outs=2
        ),
        decode_head=dict(
            _delete_=True,
            type='FCNHead',
            in_channels=[8, 8],
            in_index=[0, 1],
            input_transform='resize_concat',
            channels=8,
            num_convs=1,
            dropout_ratio=0.5,
            norm_cfg=NORM,
            align_corners=False,
        ),
    ),
    upernet_aux=dict(
        backbone=dict(
            num_stages=4,
            out_indices=(0, 1, 2, 3),
            strides=(1, 2, 2, 1),
            dilations=(1, 1, 1, 2),
        ),
        decode_head=dict(
            _delete_=True,
            type='UPerHead',
            in_channels=[16, 32, 64, 128],
            in_index=[0, 1, 2, 3],
            pool_scales=(1, 2),
            channels=16,
            num_classes=1,
            norm_cfg=NORM,
            align_corners=False,
        ),
        auxiliary_head=dict(
            type='FCNHead',
            in_channels=64,
            in_index=2,
            channels=8,
            num_convs=1,
            num_classes=1,
            norm_cfg=NORM,
        ),
    ),
)


@pytest.fixture(scope='module', params=NETWORKS)
def run(request, tiny_root, tmp_path_factory) -> Path:
    """Run RBC over two steps and return the work dir."""
    init_default_scope('mmseg')
    work_dir = tmp_path_factory.mktemp(request.param)
    cfg, options = make_tiny_config(
        tiny_root,
        'rbc',
        **{
            'schedule.base': dict(lr=0.1, epochs=4, batch_size=8),
            'schedule.later.epochs': 1,
            'train_dataloader.dataset.pipeline.2.crop_size': (64, 64),
            'model.data_preprocessor.size': (64, 64),
            # Without decay only what gets a gradient moves.
            'optim_wrapper.optimizer.weight_decay': 0,
        },
    )
    for part, change in NETWORKS[request.param].items():
        change = dict(change)
        if change.pop('_delete_', False) or part not in cfg.model:
            cfg.model[part] = change
        else:
            cfg.model[part].update(change)
    cfg.custom_hooks.append(dict(type='Snapshot'))
    run_sequence(cfg, str(work_dir), options=options)
    return work_dir


def states(work_dir: Path, name: str) -> dict:
    path = work_dir / 'step_1' / f'{name}.pth'
    return torch.load(path, weights_only=True)


def test_step_1_starts_from_step_0(run):
    """All weights of backbone, neck and heads; the classifiers grow."""
    old = weights(run / 'step_0/final.pth')
    new = states(run, 'before')['student']
    assert old.keys() == new.keys()
    grown = [key for key in old if 'conv_seg' in key]
    heads = {key.split('.')[0] for key in grown}
    assert heads == {key.split('.')[0] for key in old if 'head' in key}
    for key in old.keys() - set(grown):
        assert torch.equal(new[key], old[key]), key
    for key in grown:
        # Balanced: five new classes have a tenth of background's probability.
        kept, given = (math.log(0.9), math.log(0.1 / 5))
        if not key.endswith('bias'):
            kept = given = 0
        assert torch.equal(new[key][1:16], old[key][1:]), key
        torch.testing.assert_close(new[key][0], old[key][0] + kept)
        for row in range(16, 21):
            torch.testing.assert_close(new[key][row], old[key][0] + given)


def test_student_learns_and_teacher_does_not(run):
    before, after = states(run, 'before'), states(run, 'after')
    for key, value in before['teacher'].items():
        assert torch.equal(after['teacher'][key], value), key
    final = weights(run / 'step_1/final.pth')
    assert_equal_weights(final, after['student'])
    moved = {
        key: not torch.equal(value, before['student'][key])
        for key, value in final.items()
        if value.dim() > 1 or 'running' in key
    }
    assert len(moved) > 20
    # The recipe of the shapes freezes the statistics of batch norms.
    for key, has_moved in moved.items():
        assert has_moved == ('running' not in key), key


def test_losses_are_logged_and_fall(run):
    """Plain cross entropy of step 0, with every head; no old class in it."""
    first, *_, last = logged(run / 'step_0')
    auxiliary = [key for key in first if key.startswith('aux')]
    has_auxiliary = any(
        'auxiliary' in k for k in states(run, 'after')['student']
    )
    assert auxiliary == ['aux_0.loss_ce'] * has_auxiliary
    for key in ('loss_ce', *auxiliary):
        assert last[key] < 0.6 * first[key]
    (line,) = logged(run / 'step_1')
    for key in ('loss_ce', 'loss_pod', *auxiliary):
        assert 0 < line[key] < math.inf, key


def test_evaluation_has_all_classes(run):
    old = json.loads((run / 'step_0/metrics.json').read_text())
    new = json.loads((run / 'step_1/metrics.json').read_text())
    assert list(new['IoU'])[:16] == list(old['IoU']) and len(new['IoU']) == 21
    known = [value for value in new['IoU'].values() if value is not None]
    assert new['mIoU']['all'] == pytest.approx(sum(known) / len(known))
    # Most pixels of the shapes are background.
    assert new['IoU']['background'] > 30
