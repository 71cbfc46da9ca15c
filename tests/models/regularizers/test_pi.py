"""PI against a slow loop over single weights, in float64."""

import pytest
from model_cases import each, gather, walk

from mmseg_rbc.models.regularizers import PI

OLD, SEEN = 3, 5


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
