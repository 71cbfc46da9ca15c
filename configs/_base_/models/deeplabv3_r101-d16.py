# DeepLabV3 with ResNet-101 at output stride 16, as in the published tables
# (there with in-place ABN and leaky ReLU; here with SyncBN and ReLU).
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
        type='ResNet',
        depth=101,
        num_stages=4,
        out_indices=(0, 1, 2, 3),
        dilations=(1, 1, 1, 2),
        strides=(1, 2, 2, 1),
        norm_cfg=dict(type='SyncBN', requires_grad=True),
        style='pytorch',
        init_cfg=dict(type='Pretrained', checkpoint='torchvision://resnet101'),
    ),
    decode_head=dict(
        type='ASPPHead',
        in_channels=2048,
        in_index=3,
        channels=256,
        dilations=(1, 6, 12, 18),
        dropout_ratio=0,
        norm_cfg=dict(type='SyncBN', requires_grad=True),
        align_corners=False,
    ),
    test_cfg=dict(mode='whole'),
)
