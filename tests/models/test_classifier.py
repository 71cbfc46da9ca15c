import math

import pytest
import torch
from mmseg.registry import MODELS
from torch import nn

from mmseg_rbc.models.classifier import (
    check_head,
    fold_new_logits,
    grow_state_dict,
    is_classifier,
    loss_weight,
)


def states(num_old=3, num_seen=5):
    old = {
        'a.weight': torch.randn(2, 2),
        'h.conv_seg.weight': torch.randn(num_old, 4, 1, 1),
        'h.conv_seg.bias': torch.randn(num_old),
    }
    new = {
        'a.weight': torch.zeros(2, 2),
        'h.conv_seg.weight': torch.randn(num_seen, 4, 1, 1),
        'h.conv_seg.bias': torch.randn(num_seen),
    }
    return old, new


def test_random_keeps_old_and_fresh_rows():
    old, new = states()
    grown = grow_state_dict(old, new, 'random')
    for key in ('h.conv_seg.weight', 'h.conv_seg.bias'):
        assert torch.equal(grown[key][:3], old[key])
        assert torch.equal(grown[key][3:], new[key][3:])
    assert torch.equal(grown['a.weight'], old['a.weight'])


def test_balanced_shares_the_probability_of_background():
    old, new = states()
    grown = grow_state_dict(old, new, 'balanced')
    weight, bias = grown['h.conv_seg.weight'], grown['h.conv_seg.bias']
    assert torch.equal(weight[3], old['h.conv_seg.weight'][0])
    assert torch.equal(weight[0], old['h.conv_seg.weight'][0])
    expected = old['h.conv_seg.bias'][0] - math.log(3)
    torch.testing.assert_close(bias[[0, 3, 4]], expected.repeat(3))
    assert torch.equal(bias[1:3], old['h.conv_seg.bias'][1:])
    # The softmax of old classes is unchanged, and background's is shared.
    x = torch.randn(7, 4)
    before = (
        x @ old['h.conv_seg.weight'][:, :, 0, 0].T + old['h.conv_seg.bias']
    )
    after = x @ weight[:, :, 0, 0].T + bias
    p, q = before.softmax(1), after.softmax(1)
    torch.testing.assert_close(q[:, 1:3], p[:, 1:])
    torch.testing.assert_close(q[:, [0, 3, 4]], (p[:, :1] / 3).repeat(1, 3))


@pytest.mark.parametrize('share', [0.05, 0.5, 0.9])
def test_new_share_of_the_probability_of_background(share):
    """Old classes and the sum stay; equal parts are the default."""
    old, new = states()
    grown = grow_state_dict(old, new, 'balanced', share)
    x = torch.randn(7, 4)
    p, q = (
        (
            x @ state['h.conv_seg.weight'][:, :, 0, 0].T
            + state['h.conv_seg.bias']
        ).softmax(1)
        for state in (old, grown)
    )
    torch.testing.assert_close(q[:, 1:3], p[:, 1:])
    torch.testing.assert_close(q[:, 0], p[:, 0] * (1 - share))
    for row in (3, 4):
        torch.testing.assert_close(q[:, row], p[:, 0] * share / 2)
    equal = grow_state_dict(old, new, 'balanced', 2 / 3)
    default = grow_state_dict(old, new, 'balanced')
    for key in equal:
        torch.testing.assert_close(equal[key], default[key])


def test_other_shapes_are_refused():
    old, new = states()
    new['a.weight'] = torch.zeros(3, 2)
    with pytest.raises(
        ValueError, match=r"weight 'a.weight' has shape \(2, 2"
    ):
        grow_state_dict(old, new, 'random')
    new['b.weight'] = torch.zeros(1)
    del new['a.weight']
    with pytest.raises(ValueError, match="no weight 'b.weight'"):
        grow_state_dict(old, new, 'random')


def test_fold_by_hand():
    logits = torch.arange(5.0).reshape(1, 5, 1, 1)
    assert fold_new_logits(logits, 3).flatten().tolist() == [0 + 3 + 4, 1, 2]


@pytest.mark.parametrize(
    'cfg',
    [
        dict(type='FCNHead', in_channels=4, channels=4, num_classes=3),
        dict(type='ASPPHead', in_channels=4, channels=4, num_classes=3),
        dict(
            type='SegformerHead',
            in_channels=[4, 4, 4, 4],
            in_index=[0, 1, 2, 3],
            channels=4,
            num_classes=3,
        ),
    ],
)
def test_heads_that_can_grow(cfg):
    check_head(MODELS.build(cfg))


def test_heads_that_cannot_grow():
    head = MODELS.build(
        dict(
            type='SegmenterMaskTransformerHead',
            in_channels=4,
            channels=4,
            num_classes=3,
            num_layers=1,
            num_heads=1,
            embed_dims=4,
        )
    )
    with pytest.raises(
        ValueError, match='no classifier that can grow: choose'
    ):
        check_head(head)
    binary = MODELS.build(
        dict(
            type='FCNHead',
            in_channels=4,
            channels=4,
            num_classes=2,
            out_channels=1,
            threshold=0.3,
        )
    )
    with pytest.raises(ValueError, match='1 output channels for 2 classes'):
        check_head(binary)
    with pytest.raises(ValueError, match='no classifier'):
        check_head(nn.Conv2d(1, 1, 1))


def test_names_of_classifiers():
    assert is_classifier('decode_head.conv_seg.weight')
    assert is_classifier('auxiliary_head.1.conv_seg.bias')
    assert not is_classifier('decode_head.convs.0.conv.weight')


def fcn_head(**kwargs) -> nn.Module:
    cfg = dict(type='FCNHead', in_channels=4, channels=4, num_classes=3)
    return MODELS.build(dict(cfg, **kwargs))


def test_weight_of_the_loss():
    assert loss_weight(fcn_head()) == 1
    loss = dict(type='CrossEntropyLoss', loss_weight=0.4)
    assert loss_weight(fcn_head(loss_decode=loss)) == 0.4


@pytest.mark.parametrize(
    'loss',
    [
        dict(type='FocalLoss'),
        dict(type='DiceLoss', loss_weight=0.4),
        dict(type='CrossEntropyLoss', use_sigmoid=True),
        dict(type='CrossEntropyLoss', class_weight=[1.0, 2.0, 3.0]),
        dict(type='CrossEntropyLoss', avg_non_ignore=True),
        dict(type='CrossEntropyLoss', reduction='sum'),
        [dict(type='CrossEntropyLoss'), dict(type='DiceLoss')],
    ],
    ids=str,
)
def test_other_losses_are_refused(loss):
    """The criterion of the method would take their place without a word."""
    head = fcn_head(loss_decode=loss)
    with pytest.raises(
        ValueError, match='loss_decode of FCNHead .* method.criterion'
    ):
        loss_weight(head)


def test_sampler_and_other_void_are_refused():
    sampler = dict(type='OHEMPixelSampler', thresh=0.7, min_kept=10)
    with pytest.raises(
        ValueError, match='FCNHead has a sampler, OHEMPixelSampler'
    ):
        loss_weight(fcn_head(sampler=sampler))
    with pytest.raises(
        ValueError, match='FCNHead ignores label 0, .* are 255 here'
    ):
        loss_weight(fcn_head(ignore_index=0))


def test_weighted_rows_change_no_prediction():
    """Old classes keep their ratios; the new ones start below the largest."""
    old, new = states()
    shares = [[0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]
    grown = grow_state_dict(old, new, 'weighted', 0.2, shares)
    x = torch.randn(50, 4)
    p, q = (
        x @ state['h.conv_seg.weight'][:, :, 0, 0].T + state['h.conv_seg.bias']
        for state in (old, grown)
    )
    torch.testing.assert_close(q[:, :3], p)
    assert torch.equal(q.argmax(1), p.argmax(1))
    log_share = math.log(0.2 / 2)
    torch.testing.assert_close(q[:, 3], p[:, 1] + log_share)
    mean = p @ torch.tensor(shares[1])
    torch.testing.assert_close(q[:, 4], mean + log_share)
    equal = grow_state_dict(old, new, 'weighted')['h.conv_seg.weight']
    torch.testing.assert_close(
        equal[3], old['h.conv_seg.weight'].mean(0), rtol=1e-5, atol=1e-7
    )
