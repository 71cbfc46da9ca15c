# MobileNetV2 at output stride 16 and a small ASPP, for small images on a CPU.
# The weights of the backbone are a setting: see docs/voc128.md.
# The heads get their num_classes in each step.
model = dict(
    type='IncrementalEncoderDecoder',
    # Faster on a CPU.
    channels_last=True,
    data_preprocessor=dict(
        type='DupletDataPreProcessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='MobileNetV2',
        out_indices=(1, 2, 4, 6),
        strides=(1, 2, 2, 2, 1, 1, 1),
        dilations=(1, 1, 1, 1, 1, 2, 2),
        norm_cfg=dict(type='BN', requires_grad=True),
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
        norm_cfg=dict(type='BN', requires_grad=True),
        align_corners=False,
    ),
    test_cfg=dict(mode='whole'),
)
