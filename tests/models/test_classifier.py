import math

import pytest
import torch
from mmseg.registry import MODELS
from torch import nn

from mmseg_rbc.models.classifier import (
    check_head,
    fold_new_logits,
    grow_state_dict,
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
