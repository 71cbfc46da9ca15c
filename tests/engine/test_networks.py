"""Other backbones and heads train two steps."""

import pytest

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


@pytest.mark.parametrize('name', NETWORKS)
def test_two_steps(tiny_config, tmp_path, name):
    cfg, options = tiny_config(
        'rbc',
        **{
            'schedule.base.epochs': 1,
            'schedule.later.epochs': 1,
            'train_dataloader.dataset.pipeline.2.crop_size': (64, 64),
            'model.data_preprocessor.size': (64, 64),
        },
    )
    model = cfg.model
    for part, change in NETWORKS[name].items():
        change = dict(change)
        if change.pop('_delete_', False) or part not in model:
            model[part] = change
        else:
            model[part].update(change)
    results = run_sequence(cfg, str(tmp_path), options=options)
    assert [step['step'] for step in results] == [0, 1]
    assert 0 <= results[1]['metrics']['mIoU'] <= 100
