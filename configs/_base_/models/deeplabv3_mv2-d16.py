# MobileNetV2 at output stride 16 and a small ASPP, for small images on a CPU.
# The weights of the backbone are a setting: see configs/voc128/README.md.
_base_ = './deeplabv3_r101-d16.py'
norm_cfg = dict(type='BN', requires_grad=True)
model = dict(
    backbone=dict(
        _delete_=True,
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
        in_channels=320,
        channels=96,
        dilations=(1, 2, 4),
        norm_cfg=norm_cfg,
    ),
)
