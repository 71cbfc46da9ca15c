"""Tiny networks with every decode head and every backbone of MMSeg."""

from __future__ import annotations

import copy
import re
from typing import Any

import mmseg.models.backbones as backbones
import mmseg.models.decode_heads as decode_heads
from helpers import make_tiny_config

from mmseg_rbc.datasets.shapes import make_shapes
from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.preflight import check_steps
from mmseg_rbc.engine.trial import try_step

SIZE = 64
BN = dict(type='BN')
LN = dict(type='LN')
STAGES = [16, 32, 64, 128]
RESNET = dict(
    type='ResNet',
    depth=18,
    base_channels=16,
    stem_channels=16,
    num_stages=4,
    out_indices=(0, 1, 2, 3),
    strides=(1, 2, 2, 1),
    dilations=(1, 1, 1, 2),
    norm_cfg=BN,
)
VIT = dict(
    type='VisionTransformer',
    img_size=SIZE,
    patch_size=16,
    embed_dims=16,
    num_layers=4,
    num_heads=2,
    mlp_ratio=2,
    out_indices=(0, 1, 2, 3),
    output_cls_token=False,
)

UNET = dict(
    base_channels=4,
    num_stages=4,
    strides=(1, 1, 1, 1),
    enc_num_convs=(1, 1, 1, 1),
    dec_num_convs=(1, 1, 1),
    downsamples=(True, True, True),
    enc_dilations=(1, 1, 1, 1),
    dec_dilations=(1, 1, 1),
    norm_cfg=BN,
)


def head(kind: str, index: Any = 3, **more: Any) -> dict:
    """Return a head on one or several stages of the tiny ResNet."""
    several = not isinstance(index, int)
    found = [STAGES[i] for i in index] if several else STAGES[index]
    config = dict(type=kind, in_channels=found, in_index=index, channels=16)
    return dict(config, norm_cfg=BN, dropout_ratio=0.1, **more)


FCN = head('FCNHead', num_convs=1)
ALL = [0, 1, 2, 3]
# What a model is made of besides the tiny ResNet.
HEADS: dict[str, dict] = dict(
    ANNHead=head(
        'ANNHead',
        [2, 3],
        project_channels=8,
        query_scales=(1,),
        key_pool_scales=(1, 3),
    ),
    APCHead=head('APCHead', pool_scales=(1, 2), fusion=True),
    ASPPHead=head('ASPPHead', dilations=(1, 2)),
    CCHead=head('CCHead', recurrence=1),
    DAHead=head('DAHead', pam_channels=8),
    DDRHead=head('DDRHead'),
    DMHead=head('DMHead', filter_sizes=(1, 3), fusion=False),
    DNLHead=head('DNLHead'),
    DPTHead=dict(
        backbone=dict(VIT, final_norm=True, output_cls_token=True),
        decode_head=dict(
            type='DPTHead',
            in_channels=(16, 16, 16, 16),
            in_index=(0, 1, 2, 3),
            input_transform='multiple_select',
            channels=16,
            embed_dims=16,
            post_process_channels=[8, 8, 16, 16],
            readout_type='project',
            norm_cfg=BN,
        ),
    ),
    DepthwiseSeparableASPPHead=head(
        'DepthwiseSeparableASPPHead',
        dilations=(1, 2),
        c1_in_channels=16,
        c1_channels=8,
    ),
    DepthwiseSeparableFCNHead=head('DepthwiseSeparableFCNHead', num_convs=1),
    EMAHead=head(
        'EMAHead',
        ema_channels=16,
        num_bases=4,
        num_stages=2,
        momentum=0.1,
    ),
    EncHead=head('EncHead', [2, 3], num_codes=4, use_se_loss=False),
    FCNHead=FCN,
    FPNHead=dict(
        neck=dict(type='FPN', in_channels=STAGES, out_channels=16, num_outs=4),
        decode_head=dict(
            type='FPNHead',
            in_channels=[16] * 4,
            in_index=ALL,
            feature_strides=[4, 8, 16, 32],
            channels=16,
            norm_cfg=BN,
        ),
    ),
    GCHead=head('GCHead'),
    ISAHead=head('ISAHead', isa_channels=8, down_factor=(4, 4)),
    IterativeDecodeHead=head(
        'IterativeDecodeHead', num_stages=1, kernel_generate_head=FCN
    ),
    KernelUpdateHead=dict(type='KernelUpdateHead'),
    # It pools over 49 pixels: only these maps of a UNet are so large.
    LRASPPHead=dict(
        backbone=dict(UNET, type='UNet'),
        decode_head=dict(
            type='LRASPPHead',
            in_channels=(16, 8, 4),
            in_index=(1, 2, 3),
            input_transform='multiple_select',
            channels=16,
            branch_channels=(8, 16),
            norm_cfg=BN,
        ),
    ),
    LightHamHead=head(
        'LightHamHead',
        [1, 2, 3],
        ham_channels=16,
        ham_kwargs=dict(MD_R=4, train_steps=2, eval_steps=2),
    ),
    Mask2FormerHead=dict(type='Mask2FormerHead'),
    MaskFormerHead=dict(type='MaskFormerHead'),
    NLHead=head('NLHead'),
    OCRHead=dict(
        type='CascadeEncoderDecoder',
        num_stages=2,
        decode_head=[FCN, head('OCRHead', ocr_channels=8)],
    ),
    PIDHead=head('PIDHead'),
    PSAHead=head('PSAHead', mask_size=(15, 15)),
    PSPHead=head('PSPHead', pool_scales=(1, 2)),
    PointHead=dict(
        type='CascadeEncoderDecoder',
        num_stages=2,
        decode_head=[FCN, head('PointHead', [0], num_fcs=1)],
    ),
    SETRMLAHead=dict(
        backbone=VIT,
        neck=dict(
            type='MLANeck',
            in_channels=[16] * 4,
            out_channels=16,
            norm_cfg=BN,
            act_cfg=dict(type='ReLU'),
        ),
        decode_head=dict(
            type='SETRMLAHead',
            in_channels=[16] * 4,
            in_index=ALL,
            channels=32,
            mla_channels=8,
            norm_cfg=BN,
        ),
    ),
    SETRUPHead=head('SETRUPHead', num_convs=1),
    STDCHead=head('STDCHead', num_convs=1),
    SegformerHead=head('SegformerHead', ALL),
    SegmenterMaskTransformerHead=head(
        'SegmenterMaskTransformerHead',
        num_layers=1,
        num_heads=1,
        embed_dims=16,
    ),
    SideAdapterCLIPHead=dict(type='SideAdapterCLIPHead'),
    UPerHead=head('UPerHead', ALL, pool_scales=(1, 2)),
    VPDDepthHead=dict(type='VPDDepthHead'),
)


def backbone(kind: str, width: int, index: int = -1, **more: Any) -> dict:
    """Return a backbone, and an FCN head on one of its stages."""
    decode_head = dict(FCN, in_channels=width, in_index=index)
    return dict(backbone=dict(type=kind, **more), decode_head=decode_head)


HRNET = {
    f'stage{i}': dict(
        num_modules=1,
        num_branches=i,
        block='BOTTLENECK' if i == 1 else 'BASIC',
        num_blocks=(1,) * i,
        num_channels=(8, 16, 32, 64)[:i],
    )
    for i in range(1, 5)
}
TWINS = dict(
    embed_dims=[8, 8, 16, 16],
    num_heads=[1, 1, 2, 2],
    depths=[1, 1, 1, 1],
    mlp_ratios=[2, 2, 2, 2],
    qkv_bias=True,
    norm_cfg=LN,
)
STDC = dict(
    stdc_type='STDCNet1',
    in_channels=3,
    channels=(8, 16, 32, 64, 128),
    bottleneck_type='cat',
    num_convs=4,
    norm_cfg=BN,
    act_cfg=dict(type='ReLU'),
    with_final_conv=False,
)
BACKBONES: dict[str, dict] = dict(
    BEiT=backbone(
        'BEiT',
        16,
        img_size=SIZE,
        embed_dims=16,
        num_layers=2,
        num_heads=2,
        mlp_ratio=2,
        out_indices=(0, 1),
        qv_bias=True,
        init_values=0.1,
    ),
    BiSeNetV1=backbone(
        'BiSeNetV1',
        32,
        0,
        backbone_cfg=dict(RESNET, strides=(1, 2, 2, 2), dilations=(1,) * 4),
        spatial_channels=(8, 8, 8, 32),
        context_channels=(32, 64, 128),
        out_channels=32,
        norm_cfg=BN,
    ),
    BiSeNetV2=backbone(
        'BiSeNetV2',
        16,
        0,
        detail_channels=(8, 8, 16),
        semantic_channels=(8, 16, 16, 16),
        semantic_expansion_ratio=2,
        bga_channels=16,
        norm_cfg=BN,
    ),
    CGNet=backbone(
        'CGNet',
        16,
        num_channels=(8, 8, 8),
        num_blocks=(1, 1),
        dilations=(1, 1),
        reductions=(2, 2),
        norm_cfg=BN,
    ),
    DDRNet=backbone('DDRNet', 32, channels=8, ppm_channels=8, norm_cfg=BN),
    ERFNet=backbone('ERFNet', 16, norm_cfg=BN),
    FastSCNN=backbone(
        'FastSCNN',
        16,
        downsample_dw_channels=(8, 8),
        global_in_channels=16,
        global_block_channels=(16, 16, 16),
        global_block_strides=(2, 2, 1),
        global_out_channels=16,
        higher_in_channels=16,
        lower_in_channels=16,
        fusion_out_channels=16,
        norm_cfg=BN,
        align_corners=False,
    ),
    HRNet=backbone('HRNet', 64, extra=HRNET, norm_cfg=BN),
    ICNet=dict(
        backbone=dict(
            type='ICNet',
            backbone_cfg=dict(RESNET, type='ResNetV1c'),
            layer_channels=(32, 128),
            light_branch_middle_channels=8,
            psp_out_channels=16,
            out_channels=(8, 16, 16),
            pool_scales=(1, 2),
            norm_cfg=BN,
        ),
        neck=dict(
            type='ICNeck',
            in_channels=(8, 16, 16),
            out_channels=16,
            norm_cfg=BN,
            align_corners=False,
        ),
        decode_head=dict(FCN, in_channels=16, in_index=2),
    ),
    MAE=backbone(
        'MAE',
        16,
        img_size=SIZE,
        embed_dims=16,
        num_layers=2,
        num_heads=2,
        mlp_ratio=2,
        out_indices=(0, 1),
        init_values=1.0,
    ),
    MSCAN=backbone(
        'MSCAN',
        16,
        embed_dims=[8, 8, 16, 16],
        mlp_ratios=[2, 2, 2, 2],
        depths=[1, 1, 1, 1],
        norm_cfg=BN,
    ),
    MixVisionTransformer=backbone(
        'MixVisionTransformer',
        16,
        embed_dims=8,
        num_layers=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        mlp_ratio=2,
    ),
    MobileNetV2=backbone(
        'MobileNetV2', 32, widen_factor=0.1, out_indices=(1, 6), norm_cfg=BN
    ),
    MobileNetV3=backbone(
        'MobileNetV3', 576, arch='small', out_indices=(0, 12), norm_cfg=BN
    ),
    PCPVT=backbone(
        'PCPVT', 16, **TWINS, patch_sizes=[4, 2, 2, 2], sr_ratios=[8, 4, 2, 1]
    ),
    PIDNet=backbone(
        'PIDNet',
        32,
        1,
        channels=8,
        ppm_channels=8,
        num_stem_blocks=1,
        norm_cfg=BN,
    ),
    ResNeSt=backbone(
        'ResNeSt',
        512,
        depth=50,
        base_channels=16,
        stem_channels=16,
        norm_cfg=BN,
    ),
    ResNeXt=backbone(
        'ResNeXt', 512, depth=50, base_channels=16, base_width=1, norm_cfg=BN
    ),
    ResNet=dict(backbone=RESNET, decode_head=FCN),
    ResNetV1c=backbone(
        'ResNetV1c', 128, depth=18, base_channels=16, norm_cfg=BN
    ),
    ResNetV1d=backbone(
        'ResNetV1d', 128, depth=18, base_channels=16, norm_cfg=BN
    ),
    STDCContextPathNet=backbone(
        'STDCContextPathNet',
        16,
        3,
        backbone_cfg=dict(STDC, type='STDCNet'),
        last_in_channels=(128, 64),
        out_channels=16,
        ffm_cfg=dict(in_channels=48, out_channels=16, scale_factor=4),
        norm_cfg=BN,
    ),
    STDCNet=backbone('STDCNet', 128, **STDC),
    SVT=backbone(
        'SVT',
        16,
        **TWINS,
        patch_sizes=[4, 2, 2, 2],
        sr_ratios=[4, 2, 1, 1],
        windiow_sizes=[2, 2, 2, 2],
    ),
    SwinTransformer=backbone(
        'SwinTransformer',
        64,
        pretrain_img_size=SIZE,
        embed_dims=8,
        window_size=4,
        mlp_ratio=2,
        depths=(1, 1, 1, 1),
        num_heads=(1, 1, 2, 2),
    ),
    TIMMBackbone=backbone('TIMMBackbone', 512, model_name='resnet18'),
    UNet=backbone('UNet', 4, 3, **UNET),
    VisionTransformer=dict(
        backbone=VIT, decode_head=dict(FCN, in_channels=16)
    ),
)


def all_cases() -> dict[str, dict]:
    """Return what a model is made of, by the name of its head or backbone.

    There is one for each name that MMSeg exports.
    """
    # A part of KernelUpdateHead.
    assert {*decode_heads.__all__} - {'KernelUpdator'} == {*HEADS}
    # It is made of a diffusion model of gigabytes.
    assert {*backbones.__all__} - {'VPD'} == {*BACKBONES}
    return {**HEADS, **BACKBONES}


def make_data(root: str) -> None:
    """Write the images that the networks are tried with."""
    make_shapes(root, 40, 2, size=(SIZE, SIZE))


def try_network(root: str, name: str) -> str:
    """Try two steps of RBC with a network.

    Returns:
        ``works``, or the sentence that it is refused with, without advice.
    """
    case = copy.deepcopy(all_cases()[name])
    parts = case if 'decode_head' in case else dict(decode_head=case)
    cfg, options = make_tiny_config(root, 'rbc', crop_size=(SIZE, SIZE))
    for key, part in dict(dict(backbone=RESNET), **parts).items():
        cfg.model[key] = copy.deepcopy(part)
    try:
        configs = RunConfig(cfg, options).steps('work')
        first, second = check_steps(configs)
        try_step(configs[0], first, None)
        try_step(configs[1], second, first.state_dict())
    except ValueError as error:
        return re.split(': (?:choose|set|install)', str(error))[0]
    return 'works'
