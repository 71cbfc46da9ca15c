# As fcn_tiny.py, with a head that sees the whole image.
# The heads get their num_classes in each step.
model = dict(
    type='IncrementalEncoderDecoder',
    data_preprocessor=dict(
        type='DupletDataPreProcessor',
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='ResNetV1c',
        depth=18,
        base_channels=16,
        stem_channels=16,
        num_stages=2,
        out_indices=(0, 1),
        strides=(1, 2),
        dilations=(1, 1),
        norm_cfg=dict(type='BN', requires_grad=True),
    ),
    decode_head=dict(
        type='ASPPHead',
        in_channels=32,
        in_index=1,
        channels=32,
        dilations=(1, 4),
        dropout_ratio=0,
        norm_cfg=dict(type='BN', requires_grad=True),
        align_corners=False,
    ),
    test_cfg=dict(mode='whole'),
)
