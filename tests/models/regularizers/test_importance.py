"""EWC, PI and RW against slow loops over single weights, in float64."""

import pytest
import torch
from mmseg.registry import TASK_UTILS

from mmseg_rbc.models.regularizers import (
    EWC,
    PI,
    RW,
    ImportanceState,
    min_max,
    penalty,
    penalty_gradient,
)

ITERATIONS = 23
OLD, SEEN = 3, 5


def walk(shape, seed: int = 0):
    """Random weights and gradients of some iterations."""
    g = torch.Generator().manual_seed(seed)

    def rand():
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    return [(rand(), rand()) for _ in range(ITERATIONS)], rand()


def gather(regularizer, steps, last, previous=None):
    """Train one tensor and return what goes on."""
    previous = previous or {}
    gathered = regularizer.begin(steps[0][0], previous)
    for count, (theta, gradient) in enumerate(steps):
        gathered = regularizer.update(gathered, theta, gradient, count)
    return regularizer.end(gathered, last, previous)


def each(tensors, *index):
    return [t[index].item() for t in tensors]


def test_ewc():
    steps, last = walk((OLD, 2))
    ended = gather(EWC(), steps, last)
    later, later_last = walk((SEEN, 2), seed=1)
    again = gather(EWC(), later, later_last, ended)
    for i in range(SEEN):
        for j in range(2):
            f = 1.0
            if i < OLD:
                for g in each([g for _, g in steps], i, j):
                    f = 0.9 * g**2 + 0.1 * f
                assert ended['fisher'][i, j].item() == pytest.approx(f)
            for g in each([g for _, g in later], i, j):
                f = 0.9 * g**2 + 0.1 * f
            assert again['fisher'][i, j].item() == pytest.approx(f)


def slow_pi(thetas, gradients, last):
    path = 0.0
    for k in range(1, len(thetas)):
        path += gradients[k] * (thetas[k - 1] - thetas[k])
    return max(0.0, path / ((last - thetas[0]) ** 2 + 1e-20))


def test_pi():
    steps, last = walk((OLD, 2))
    ended = gather(PI(), steps, last)
    later, later_last = walk((SEEN, 2), seed=1)
    again = gather(PI(), later, later_last, ended)
    for i in range(SEEN):
        for j in range(2):
            omega = 0.0
            if i < OLD:
                thetas, gradients = (
                    each(column, i, j) for column in zip(*steps)
                )
                omega = slow_pi(thetas, gradients, last[i, j].item())
                assert ended['omega'][i, j].item() == pytest.approx(omega)
            thetas, gradients = (each(column, i, j) for column in zip(*later))
            omega += slow_pi(thetas, gradients, later_last[i, j].item())
            assert again['omega'][i, j].item() == pytest.approx(omega)


def test_pi_is_zero_without_movement():
    steps, _ = walk((OLD, 2))
    theta = steps[0][0]
    still = [(theta.clone(), gradient) for _, gradient in steps]
    assert not gather(PI(), still, theta)['omega'].any()


def slow_rw(thetas, gradients, fisher):
    score, last = 0.0, thetas[0]
    for k, (theta, g) in enumerate(zip(thetas, gradients)):
        if k % 10 == 0:
            cost = 0.5 * fisher * (theta - last) ** 2 + 1e-8
            score += g * (last - theta) / cost
            last = theta
        fisher = 0.9 * g**2 + 0.1 * fisher
    return max(0.0, score), fisher


def test_rw():
    steps, last = walk((OLD, 2))
    ended = gather(RW(), steps, last)
    later, later_last = walk((SEEN, 2), seed=1)
    again = gather(RW(), later, later_last, ended)
    for i in range(SEEN):
        for j in range(2):
            fisher, before = 1.0, None
            if i < OLD:
                thetas, gradients = (
                    each(column, i, j) for column in zip(*steps)
                )
                before, fisher = slow_rw(thetas, gradients, fisher)
                assert ended['score'][i, j].item() == pytest.approx(before)
                assert ended['fisher'][i, j].item() == pytest.approx(fisher)
            thetas, gradients = (each(column, i, j) for column in zip(*later))
            score, fisher = slow_rw(thetas, gradients, fisher)
            if before is not None:
                score = (score + before) / 2
            assert again['score'][i, j].item() == pytest.approx(score)
            assert again['fisher'][i, j].item() == pytest.approx(fisher)
    assert (ended['score'] > 0).any() and (again['score'] > 0).any()


def test_min_max_by_blocks():
    values = torch.tensor([[1.0, 3.0], [2.0, 5.0], [10.0, 20.0]])
    expected = torch.tensor([[0, 0.5], [0.25, 1], [0, 1]])
    torch.testing.assert_close(min_max(values, [2, 1]), expected)
    torch.testing.assert_close(
        min_max(values), (values - 1) / 19, rtol=1e-6, atol=0
    )
    assert not min_max(torch.ones(3)).any()


def test_strength_of_rw_adds_both():
    fisher, score = torch.tensor([0.0, 1, 4]), torch.tensor([3.0, 1, 2])
    strength = RW().strength(dict(fisher=fisher, score=score), None)
    torch.testing.assert_close(strength, torch.tensor([1, 0.25, 1.5]))


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
    found = penalty_gradient(theta.detach(), old, strength)
    torch.testing.assert_close(found, expected)
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
    state.add_penalty_gradient(weights, gradients)
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
