"""EWC, PI and RW on any walk of the weights, also one that goes nowhere."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from mmseg.registry import TASK_UTILS
from strategies import SEEDS, generator
from torch import Tensor

from mmseg_rbc.models.regularizers import ImportanceState, min_max

# The largest normalized importance: RW adds two of them.
LARGEST = dict(EWC=1.0, PI=1.0, RW=2.0)
KEY = 'decode_head.conv_seg.weight'
SCALES = (1.0, 0.0, 1e-6, 1e3)
Walk = list[dict[str, Tensor]]


@st.composite
def walks(draw: st.DrawFn, rows: int) -> Walk:
    """Draw weights at 1 to 12 times: a tensor, a number and a classifier.

    A scale of 0 is a network at rest, or gradients of 0.
    """
    g, scale = generator(draw(SEEDS)), draw(st.sampled_from(SCALES))
    shapes = {'backbone.weight': (2, 3), 'backbone.scale': (), KEY: (rows, 2)}
    return [
        {k: scale * torch.randn(s, generator=g) for k, s in shapes.items()}
        for _ in range(draw(st.integers(1, 12)))
    ]


def trained(
    state: ImportanceState, weights: Walk, gradients: Walk
) -> ImportanceState:
    for theta, gradient in zip(weights, gradients):
        state.update(theta, gradient)
    return state


def regularizer(name: str) -> object:
    # Of the few iterations each is scored.
    more = dict(interval=1) if name == 'RW' else {}
    return TASK_UTILS.build(dict(type=name, **more))


@pytest.mark.parametrize('name', LARGEST)
@given(data=st.data())
def test_importance_and_penalty_of_any_walk(name, data):
    rule, previous, old = regularizer(name), None, None
    rows = 0
    for step in range(3):
        rows += data.draw(st.integers(1, 3))
        walk, gradients = data.draw(walks(rows)), data.draw(walks(rows))
        start = walk[0]
        if old is not None:
            start = {k: joined(old[k], start[k]) for k in start}
        state = ImportanceState(rule, start, rows, previous, old)
        assert state.penalty(start) == 0, 'nothing has moved yet'
        trained(state, walk, gradients)
        check_penalty(state, walk[-1], LARGEST[name])
        assert (step == 0) == (not state.held)
        previous, old = state.end(walk[-1]), walk[-1]
        for tensors in previous['tensors'].values():
            for values in tensors.values():
                assert torch.isfinite(values).all() and (values >= 0).all()


def joined(old: Tensor, fresh: Tensor) -> Tensor:
    if old.shape == fresh.shape:
        return old
    return torch.cat([old, fresh[len(old) :]])


def check_penalty(
    state: ImportanceState, weights: dict[str, Tensor], largest: float
) -> None:
    """Not negative, with the gradient of autograd, and of bounded strength."""
    leaves = {k: v.clone().requires_grad_() for k, v in weights.items()}
    value = state.penalty(leaves)
    assert torch.isfinite(value) and value >= 0
    if not state.held:
        return
    value.backward()
    gradients = {k: torch.zeros_like(v) for k, v in weights.items()}
    state.update(weights, gradients)
    for name, (_, strength) in state.held.items():
        assert (strength >= 0).all() and (strength <= largest).all()
        assert torch.isfinite(gradients[name]).all()
        torch.testing.assert_close(gradients[name], leaves[name].grad)


@given(data=st.data())
def test_min_max_of_blocks(data):
    """Each block by itself, in [0, 1], whatever offset it has."""
    blocks = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    scale = data.draw(st.sampled_from(SCALES))
    g = generator(data.draw(SEEDS))
    values = scale * torch.rand(sum(blocks), 2, generator=g)
    found = min_max(values, blocks)
    assert (found >= 0).all() and (found <= 1).all()
    for part, whole in zip(found.split(blocks), values.split(blocks)):
        assert torch.equal(part, min_max(whole))
        assert part.min() == 0
        if scale >= 1:
            assert part.max() > 1 - 1e-4
