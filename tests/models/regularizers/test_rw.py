"""RW against a slow loop over single weights, in float64."""

import pytest
import torch
from model_cases import each, gather, walk

from mmseg_rbc.models.regularizers import RW

OLD, SEEN = 3, 5


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


def test_strength_of_rw_adds_both():
    fisher, score = torch.tensor([0.0, 1, 4]), torch.tensor([3.0, 1, 2])
    strength = RW().strength(dict(fisher=fisher, score=score), None)
    torch.testing.assert_close(strength, torch.tensor([1, 0.25, 1.5]))
