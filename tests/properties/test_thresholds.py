"""Thresholds of any entropies against slow walks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mmseg_rbc.models.pseudo_labelers.entropy import ESTIMATORS

NUM_OLD = 3
FLOOR = 0.001
Pixels = list[tuple[float, int]]
ENTROPIES = st.one_of(
    st.just(1.0),
    st.floats(0, 1, width=32),
    st.floats(0, np.float32(0.03).item(), width=32),
    # Edges of bins, and values that many pixels share.
    st.integers(0, 100).map(lambda b: np.float32(b / 100).item()),
    st.sampled_from([0.0, 1e-45, 0.25]),
)
# Only with hundreds of pixels in late bins does the slip walk past one half.
COUNTS = st.sampled_from([1, 2, 3, 60, 500])


@st.composite
def drawn_pixels(draw: st.DrawFn) -> Pixels:
    """Draw entropies with their classes, of which some have none."""
    kinds = st.tuples(ENTROPIES, st.integers(0, NUM_OLD - 1))
    drawn = draw(st.lists(st.tuples(kinds, COUNTS), max_size=12))
    return [pixel for pixel, count in drawn for _ in range(count)]


PIXELS = drawn_pixels()


def estimate(name: str, pixels: Pixels, cut: int) -> list[float]:
    """Estimate from two batches."""
    estimator = ESTIMATORS[name](NUM_OLD, 'cpu')
    for _ in range(estimator.num_passes):
        for part in (pixels[:cut], pixels[cut:]):
            entropy = torch.tensor([u for u, _ in part])
            classes = torch.tensor([c for _, c in part], dtype=torch.long)
            estimator.update(entropy, classes)
        estimator.end_pass()
    return estimator.thresholds().tolist()


def slow_median(values: Sequence[float]) -> float:
    ranked = sorted(values)
    return ranked[(len(ranked) - 1) // 2] if ranked else 0.0


def slow_walk(values: Sequence[float], slip: bool) -> float:
    """Walk the bins to one half, as METHODS describes the published code."""
    if not values:
        return FLOOR
    h = [0] * 100
    for u in values:
        h[min(math.floor(np.float32(100) * u), 99)] += 1
    half, running = len(values) / 2, 0
    for b in range(100):
        if running <= half <= running + h[b]:
            break
        running += b if slip else h[b]
    if h[b]:
        return b / 100 + (half - running) / h[b] / 100
    return math.inf if half > running else FLOOR


SLOW = dict(
    median=slow_median,
    histogram=lambda values: slow_walk(values, slip=False),
    published=lambda values: slow_walk(values, slip=True),
)


def test_all_estimators_are_tried():
    assert SLOW.keys() == ESTIMATORS.keys()


@pytest.mark.parametrize('name', SLOW)
@given(pixels=PIXELS, cut=st.integers(0, 40))
def test_thresholds_against_a_slow_walk(name, pixels, cut):
    found = estimate(name, pixels, cut)
    for c in range(NUM_OLD):
        values = [np.float32(u) for u, k in pixels if k == c]
        expected = max(float(SLOW[name](values)), FLOOR)
        assert found[c] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize('name', SLOW)
@given(pixels=PIXELS, seed=st.randoms(use_true_random=False))
def test_order_and_batches_do_not_matter(name, pixels, seed):
    shuffled = list(pixels)
    seed.shuffle(shuffled)
    expected = estimate(name, pixels, 0)
    assert estimate(name, shuffled, len(pixels) // 2) == expected
    assert min(expected) >= np.float32(FLOOR)


@given(pixels=PIXELS)
def test_histogram_is_within_a_bin_of_a_median(pixels):
    """Of the lower or the upper one, where their number is even."""
    found = estimate('histogram', pixels, 0)
    for c in range(NUM_OLD):
        ranked = sorted(u for u, k in pixels if k == c)
        if ranked:
            low = ranked[(len(ranked) - 1) // 2] - 0.01001
            high = ranked[len(ranked) // 2] + 0.01001
            assert low <= found[c] <= max(high, FLOOR + 1e-6)
