"""EWC against a slow loop over single weights, in float64."""

import pytest
from model_cases import each, gather, walk

from mmseg_rbc.models.regularizers import EWC

OLD, SEEN = 3, 5


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
