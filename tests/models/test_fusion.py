"""Fusion against a loop over single numbers, and its limits."""

import math

import pytest
import torch
from mmseg.registry import TASK_UTILS

from mmseg_rbc.models.fusion import EndpointsFusion, fuse_state_dict

OLD, SEEN = 3, 5


def states():
    """Two networks: a convolution, a norm and a classifier that grew."""
    g = torch.Generator().manual_seed(0)

    def state(num_classes: int) -> dict:
        return {
            'backbone.conv.weight': torch.randn(2, 3, 1, 1, generator=g),
            'backbone.bn.running_var': torch.rand(2, generator=g),
            'backbone.bn.num_batches_tracked': torch.tensor(num_classes),
            'decode_head.conv_seg.weight': torch.randn(
                num_classes, 2, 1, 1, generator=g
            ),
            'decode_head.conv_seg.bias': torch.randn(num_classes, generator=g),
        }

    return state(OLD), state(SEEN)


def test_number_by_number():
    old, new = states()
    fused = fuse_state_dict(old, new, 0.3)
    assert fused.keys() == new.keys()
    count = 0
    for key, values in fused.items():
        if key.endswith('tracked'):
            assert values == new[key] == SEEN
            continue
        for place in torch.cartesian_prod(
            *(torch.arange(n) for n in (*values.shape, 1))
        ).tolist():
            *place, _ = place
            trained = new[key][tuple(place)].item()
            wanted = trained
            if 'conv_seg' not in key or place[0] < OLD:
                wanted = 0.7 * old[key][tuple(place)].item() + 0.3 * trained
                count += 1
            assert values[tuple(place)].item() == pytest.approx(wanted, 1e-5)
    assert count == 6 + 2 + OLD * 2 + OLD


def test_limits():
    old, new = states()
    # Before they are fused, the values of a classifier must not be shared.
    kept = {key: value.clone() for key, value in new.items()}
    for key, value in fuse_state_dict(old, new, 1.0).items():
        assert torch.equal(value, new[key]), key
    for key, value in fuse_state_dict(old, new, 0.0).items():
        rows = OLD if 'conv_seg' in key else len(torch.atleast_1d(value))
        if value.is_floating_point():
            assert torch.equal(value[:rows], old[key])
            assert torch.equal(value[rows:], new[key][rows:])
    for key in new:
        assert torch.equal(new[key], kept[key]), 'nothing in place'


def test_what_did_not_move_stays():
    """Not only to rounding: frozen weights stay bit-equal."""
    old, _ = states()
    for share in (0.1, 1 / 3, 0.5, 0.9):
        for key, value in fuse_state_dict(old, old, share).items():
            assert torch.equal(value, old[key]), key


def test_share():
    fusion = TASK_UTILS.build(dict(type='EndpointsFusion'))
    assert fusion.fix_old_rows
    # 15-1: one new class of 17; 15-5: five of 21.
    assert fusion.share(16, 17) == math.sqrt(1 / 17)
    assert fusion.share(16, 21) == math.sqrt(5 / 21)
    assert EndpointsFusion(share=0.25).share(16, 21) == 0.25
    with pytest.raises(ValueError, match='share of fusion is 2, expected'):
        EndpointsFusion(share=2)
