"""A plain MMSeg config, without this plugin.

DeepLabV3 on MobileNetV2 for the Stanford Background set at half size, without
one of its classes (the environment's HELD_OUT). prepare.py makes the data,
docs/add_classes.md has the commands.
"""

default_scope = 'mmseg'
data_root = 'data/stanford_half_{{$HELD_OUT:water}}'
held_out = '{{$HELD_OUT:water}}'
colors = dict(
    sky=[70, 130, 180],
    tree=[107, 142, 35],
    road=[128, 64, 128],
    grass=[152, 251, 152],
    water=[0, 0, 230],
    building=[70, 70, 70],
    mountain=[190, 153, 153],
    foreground=[220, 20, 60],
)
classes = [name for name in colors if name != held_out]
palette = [colors[name] for name in classes]
norm_cfg = dict(type='BN', requires_grad=True)
model = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
        pad_val=0,
        seg_pad_val=255,
        size=(112, 112),
    ),
    backbone=dict(
        type='MobileNetV2',
        out_indices=(1, 2, 4, 6),
        strides=(1, 2, 2, 2, 1, 1, 1),
        dilations=(1, 1, 1, 1, 1, 2, 2),
        norm_cfg=norm_cfg,
        init_cfg=dict(
            type='Pretrained',
            checkpoint='data/weights/mobilenet_v2_imagenet_mmseg.pth',
        ),
    ),
    decode_head=dict(
        type='ASPPHead',
        in_channels=320,
        in_index=3,
        channels=96,
        dilations=(1, 2, 4),
        dropout_ratio=0,
        num_classes=7,
        norm_cfg=norm_cfg,
        align_corners=False,
        loss_decode=dict(type='CrossEntropyLoss', loss_weight=1.0),
    ),
    train_cfg=dict(),
    test_cfg=dict(mode='whole'),
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations'),
    dict(
        type='RandomResize',
        scale=(160, 120),
        ratio_range=(0.8, 1.6),
        keep_ratio=True,
    ),
    dict(type='RandomCrop', crop_size=(112, 112), cat_max_ratio=0.9),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackSegInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(160, 120), keep_ratio=True),
    dict(type='LoadAnnotations'),
    dict(type='PackSegInputs'),
]
train_dataloader = dict(
    batch_size=16,
    num_workers=0,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        type='BaseSegDataset',
        data_root=data_root,
        metainfo=dict(classes=classes, palette=palette),
        data_prefix=dict(img_path='images', seg_map_path='masks_stock'),
        ann_file='stock.txt',
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=1,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='BaseSegDataset',
        data_root=data_root,
        metainfo=dict(classes=classes, palette=palette),
        data_prefix=dict(img_path='images', seg_map_path='masks_stock'),
        ann_file='val.txt',
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
val_evaluator = dict(type='IoUMetric', iou_metrics=['mIoU'])
test_evaluator = val_evaluator
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='SGD', lr=0.02, momentum=0.9, weight_decay=1e-4),
)
param_scheduler = [
    dict(type='PolyLR', eta_min=1e-4, power=0.9, end=300, by_epoch=False)
]
train_cfg = dict(type='IterBasedTrainLoop', max_iters=300, val_interval=300)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50, log_metric_by_epoch=False),
    param_scheduler=dict(type='ParamSchedulerHook'),
    checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=300),
    sampler_seed=dict(type='DistSamplerSeedHook'),
)
log_processor = dict(by_epoch=False)
visualizer = dict(
    type='SegLocalVisualizer', vis_backends=[dict(type='LocalVisBackend')]
)
randomness = dict(seed=0)
