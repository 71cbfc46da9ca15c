"""Stock networks, and new images for them, that several tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import MODELS
from PIL import Image

CLASSES = ('sky', 'road', 'tree')
COLORS = ([10, 60, 200], [120, 120, 120], [20, 160, 40], [220, 30, 30])
SIZE = (32, 48)


def write_images(root: Path, masks: dict[str, np.ndarray]) -> Path:
    """Write pictures whose colors are those of their labels."""
    rng = np.random.RandomState(0)
    for folder in ('images', 'masks'):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name, mask in masks.items():
        colors = np.array(COLORS)[np.minimum(mask, len(COLORS) - 1)]
        noise = rng.randint(-20, 20, colors.shape)
        picture = np.clip(colors + noise, 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(root / f'images/{name}.png')
        Image.fromarray(mask.astype(np.uint8)).save(root / f'masks/{name}.png')
    return root


def blocks(labels: int, count: int, seed: int) -> dict[str, np.ndarray]:
    """Return masks of 8 x 8 blocks with random labels."""
    rng = np.random.RandomState(seed)
    small = rng.randint(0, labels, (count, SIZE[0] // 8, SIZE[1] // 8))
    return {
        f'{seed}_{i}': mask.repeat(8, 0).repeat(8, 1)
        for i, mask in enumerate(small)
    }


def write_new(root: Path, count: int = 8, labels: int = 1) -> Path:
    """Write images of which only new classes, 1 to labels, are labeled."""
    write_images(root, blocks(3 + labels, count, seed=5))
    for path in (root / 'masks').glob('*.png'):
        mask = np.array(Image.open(path)).astype(int)
        new = np.maximum(mask - 2, 0).astype(np.uint8)
        new[:2] = 255
        Image.fromarray(new).save(path)
    return root


def stock_config(
    root: Path,
    classes: tuple[str, ...] = CLASSES,
    auxiliary: bool = False,
    reduce_zero_label: bool = False,
) -> Config:
    """Return a plain MMSeg config of a tiny network on images of a folder."""
    norm = dict(type='BN', requires_grad=True)
    head = dict(
        type='FCNHead',
        in_channels=16,
        channels=16,
        num_convs=1,
        dropout_ratio=0,
        num_classes=len(classes),
        norm_cfg=norm,
        loss_decode=dict(type='CrossEntropyLoss', loss_weight=1.0),
    )
    data = dict(
        type='BaseSegDataset',
        data_root=str(root),
        metainfo=dict(classes=classes, palette=[*COLORS[: len(classes)]]),
        data_prefix=dict(img_path='images', seg_map_path='masks'),
        img_suffix='.png',
        reduce_zero_label=reduce_zero_label,
    )
    load = [dict(type='LoadImageFromFile'), dict(type='LoadAnnotations')]
    pack = dict(type='PackSegInputs')
    crop = [
        dict(type='RandomCrop', crop_size=(24, 24)),
        dict(type='RandomFlip', prob=0.5),
    ]
    val = dict(
        batch_size=1,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dict(data, pipeline=[*load, pack]),
    )
    model = dict(
        type='EncoderDecoder',
        data_preprocessor=dict(
            type='SegDataPreProcessor',
            mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375],
            bgr_to_rgb=True,
            size=(24, 24),
        ),
        backbone=dict(
            type='ResNetV1c',
            depth=18,
            base_channels=8,
            stem_channels=8,
            num_stages=2,
            out_indices=(0, 1),
            strides=(1, 2),
            dilations=(1, 1),
            norm_cfg=norm,
        ),
        decode_head=dict(head, in_index=1),
        test_cfg=dict(mode='whole'),
    )
    if auxiliary:
        model['auxiliary_head'] = dict(head, in_channels=8, in_index=0)
    return Config(
        dict(
            default_scope='mmseg',
            visualizer=dict(
                type='SegLocalVisualizer',
                vis_backends=[dict(type='LocalVisBackend')],
            ),
            model=model,
            train_dataloader=dict(
                batch_size=4,
                num_workers=0,
                sampler=dict(type='InfiniteSampler', shuffle=True),
                dataset=dict(data, pipeline=[*load, *crop, pack]),
            ),
            val_dataloader=val,
            test_dataloader=val,
            test_pipeline=[load[0], pack],
            val_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
            test_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
            val_cfg=dict(type='ValLoop'),
            test_cfg=dict(type='TestLoop'),
            optim_wrapper=dict(
                type='OptimWrapper',
                optimizer=dict(type='SGD', lr=0.05, momentum=0.9),
            ),
        )
    )


def write_stock(root: Path, **kwargs) -> tuple[str, str]:
    """Write config, images and a checkpoint; return the two paths.

    The network is random, with classes that all win somewhere.
    """
    init_default_scope('mmseg')
    zero = int(kwargs.get('reduce_zero_label', False))
    masks = blocks(3, 4, seed=1)
    write_images(root, {name: mask + zero for name, mask in masks.items()})
    cfg = stock_config(root, **kwargs)
    cfg.dump(root / 'stock.py')
    torch.manual_seed(0)
    network = MODELS.build(cfg.model)
    network.init_weights()
    with torch.no_grad():
        network.decode_head.conv_seg.weight.normal_(0, 1)
    info = cfg.val_dataloader.dataset.metainfo
    content = dict(
        meta=dict(dataset_meta=info.to_dict(), cfg=cfg.pretty_text),
        state_dict=network.state_dict(),
    )
    torch.save(content, root / 'stock.pth')
    return str(root / 'stock.py'), str(root / 'stock.pth')
