"""The importance of a whole network over several steps."""

import copy

import pytest
import torch
from mmseg.registry import TASK_UTILS

from mmseg_rbc.models.regularizers import (
    EWC,
    ImportanceState,
    add_penalty_gradient,
    penalty,
)


def test_penalty_and_its_gradient():
    g = torch.Generator().manual_seed(0)
    theta, old, strength = torch.rand(3, 4, 5, generator=g)
    theta.requires_grad_()
    value = penalty(theta, old, strength)
    slow = sum(
        f * (a - b) ** 2
        for f, a, b in zip(strength.flatten(), theta.flatten(), old.flatten())
    )
    torch.testing.assert_close(value, slow)
    (expected,) = torch.autograd.grad(value, theta)
    found = torch.ones_like(old)
    add_penalty_gradient(found, theta.detach(), old, strength, 3.0)
    torch.testing.assert_close(found, 1 + 3 * expected)
    assert penalty(old, old, strength) == 0


def network(rows: int, seed: int) -> dict:
    g = torch.Generator().manual_seed(seed)
    return {
        'backbone.weight': torch.randn(4, 2, generator=g),
        'backbone.scale': torch.randn((), generator=g),
        'decode_head.conv_seg.weight': torch.randn(rows, 4, generator=g),
        'decode_head.conv_seg.bias': torch.randn(rows, generator=g),
    }


@pytest.mark.parametrize('name', ['EWC', 'PI', 'RW'])
def test_state_of_a_network_over_three_steps(name):
    regularizer = TASK_UTILS.build(dict(type=name, weight=7.0))
    previous = old = None
    for step, rows in enumerate((3, 4, 6)):
        weights = network(rows, step)
        if old is not None:
            for key, value in old.items():
                weights[key] = (
                    value.clone()
                    if value.shape == weights[key].shape
                    else torch.cat([value, weights[key][len(value) :]])
                )
        state = ImportanceState(regularizer, weights, rows, previous, old)
        assert state.penalty(weights) == 0, 'equal weights'
        moved = {k: v + 0.1 * (step + 1) for k, v in weights.items()}
        for count in range(12):
            theta = moved if count else weights
            state.update(theta, network(rows, 50 + count))
        if old is not None:
            check_penalty(state, regularizer, moved, old, previous, step)
        previous, old = state.end(moved), moved
        assert previous['blocks'] == [3, 1, 2][: step + 1]
        assert previous['regularizer'] == name


def test_importance_of_a_frozen_part_stays():
    """A later step in which it learns again holds it back as before."""
    weights = network(3, 0)
    first = ImportanceState(EWC(weight=1.0), weights, 3)
    first.update(weights, network(3, 1))
    ended = first.end(weights)
    grown = network(4, 2)
    learns = {k: v for k, v in grown.items() if k != 'backbone.weight'}
    second = ImportanceState(EWC(weight=1.0), learns, 4, ended, weights)
    second.update(learns, {k: v.clone() for k, v in learns.items()})
    assert 'backbone.weight' not in second.held
    kept = second.end(learns)['tensors']
    assert kept.keys() == grown.keys()
    before = ended['tensors']['backbone.weight']
    assert kept['backbone.weight'].keys() == before.keys()
    for key, value in before.items():
        assert torch.equal(kept['backbone.weight'][key], value)


def check_penalty(state, regularizer, weights, old, previous, step):
    """The penalty is that of the old rows, each block by itself."""
    blocks = [3, 1][:step]
    total = 0
    for key, theta in weights.items():
        ended = previous['tensors'][key]
        strength = regularizer.strength(
            ended, blocks if 'conv_seg' in key else None
        )
        rows = theta[: len(old[key])] if theta.dim() else theta
        total += (strength * (rows - old[key]) ** 2).sum()
    torch.testing.assert_close(state.penalty(weights), 7 * total)
    leaves = {k: v.clone().requires_grad_() for k, v in weights.items()}
    state.penalty(leaves).backward()
    gradients = {k: torch.ones_like(v) for k, v in weights.items()}
    state.update(weights, gradients)
    for key, leaf in leaves.items():
        torch.testing.assert_close(gradients[key] - 1, leaf.grad)
    classifier = leaves['decode_head.conv_seg.weight'].grad
    assert not classifier[sum(blocks) :].any(), 'new rows are free'


def test_a_weight_without_gradient_is_left_alone():
    weights = network(3, 0)
    state = ImportanceState(EWC(), weights, 3)
    gradients = network(3, 1)
    del gradients['backbone.weight']
    state.update(weights, gradients)
    ended = state.end(weights)['tensors']
    assert (ended['backbone.weight']['fisher'] == 1).all()
    assert not (ended['decode_head.conv_seg.bias']['fisher'] == 1).any()


@pytest.mark.parametrize('name', ['EWC', 'PI', 'RW'])
def test_saved_state_goes_on_the_same(name):
    regularizer = TASK_UTILS.build(dict(type=name))

    def train(state, iterations):
        for i in iterations:
            state.update(network(3, i), network(3, 100 + i))

    weights = network(3, 0)
    whole = ImportanceState(regularizer, weights, 3)
    train(whole, range(25))
    first = ImportanceState(regularizer, weights, 3)
    train(first, range(13))
    second = ImportanceState(regularizer, network(3, 13), 3)
    second.load_state_dict(first.state_dict())
    train(second, range(13, 25))
    a, b = whole.end(weights)['tensors'], second.end(weights)['tensors']
    for key, tensors in a.items():
        for part, value in tensors.items():
            assert torch.equal(value, b[key][part]), (key, part)


@pytest.mark.parametrize('name', ['EWC', 'PI', 'RW'])
def test_gathered_in_place(name):
    """In the same memory, and not in that of weights or earlier steps."""
    regularizer = TASK_UTILS.build(dict(type=name))
    first = ImportanceState(regularizer, network(3, 0), 3)
    first.update(network(3, 1), network(3, 2))
    ended = first.end(network(3, 1))
    weights, gradients = network(3, 3), network(3, 4)
    state = ImportanceState(regularizer, weights, 3, ended, network(3, 1))
    kept = copy.deepcopy((ended['tensors'], weights, state.held))
    places = memory(state)
    for _ in range(2):
        state.update(weights, gradients)
    assert memory(state) == places
    found = ended['tensors'], weights, state.held
    torch.testing.assert_close(found, kept, rtol=0, atol=0)


@pytest.mark.parametrize('name', ['EWC', 'PI', 'RW'])
@pytest.mark.parametrize('piece', [1, 3, 6])
def test_pieces_change_nothing(name, piece, monkeypatch):
    """Weights, what is gathered and the gradients, bit by bit."""
    regularizer = TASK_UTILS.build(dict(type=name, weight=7.0))
    ended = ImportanceState(regularizer, network(3, 0), 3)
    ended.update(network(3, 1), network(3, 2))
    results = []
    for size in (10**6, piece):
        path = 'mmseg_rbc.models.regularizers.importance.PIECE'
        monkeypatch.setattr(path, size)
        arguments = 4, ended.end(network(3, 1)), network(3, 1)
        state = ImportanceState(regularizer, network(4, 3), *arguments)
        gradients = [network(4, 10 + i) for i in range(3)]
        for i, each in enumerate(gradients):
            state.update(network(4, 20 + i), each)
        results.append((state.gathered, gradients))
    torch.testing.assert_close(*results, rtol=0, atol=0)
    changed = results[0][1][0]['backbone.weight']
    assert not torch.equal(changed, network(4, 10)['backbone.weight'])


@pytest.mark.parametrize('name', ['EWC', 'PI', 'RW'])
def test_gathered_before_the_penalty(name):
    """What is gathered does not know of the penalty."""
    regularizer = TASK_UTILS.build(dict(type=name, weight=7.0))
    first = ImportanceState(regularizer, network(3, 0), 3)
    first.update(network(3, 1), network(3, 6))
    ended = first.end(network(3, 1))
    results = []
    for old in (None, network(3, 5)):
        state = ImportanceState(regularizer, network(3, 2), 3, ended, old)
        # Without old weights there is no penalty.
        assert bool(state.held) == (old is not None)
        state.update(network(3, 3), network(3, 4))
        results.append(state.gathered)
    torch.testing.assert_close(*results, rtol=0, atol=0)


def memory(state: ImportanceState) -> list[int]:
    return [
        value.data_ptr()
        for tensors in state.gathered.values()
        for value in tensors.values()
    ]
