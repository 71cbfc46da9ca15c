import math

import numpy as np
import pytest
import torch

from mmseg_rbc.models.pseudo_labelers import (
    MedianThresholds,
    ReleasedThresholds,
)
from mmseg_rbc.models.pseudo_labelers.thresholds import released_threshold


@pytest.mark.parametrize('seed', range(6))
def test_median_is_exact(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(50, 5000))
    entropy = rng.random(count).astype(np.float32) * 0.02
    entropy[: count // 4] = 0
    classes = rng.integers(0, 5, count)
    classes[classes == 3] = 2
    estimator = MedianThresholds(5, 'cpu')
    for _ in range(estimator.num_passes):
        for part in np.array_split(np.arange(count), 7):
            estimator.update(
                torch.from_numpy(entropy[part]),
                torch.from_numpy(classes[part]),
            )
        estimator.end_pass()
    for c, found in enumerate(estimator.thresholds().tolist()):
        values = np.sort(entropy[classes == c])
        lower = values[(len(values) - 1) // 2] if len(values) else 0
        assert found == max(np.float32(0.001), lower)


def slow_released(histogram):
    """The published walk, written from its description."""
    n = sum(histogram)
    if n == 0:
        return 0.001
    half, running = n / 2, 0
    for b in range(100):
        if running <= half <= running + histogram[b]:
            break
        running = running + b
    if histogram[b] == 0:
        return math.inf if half > running else 0.001
    return max(0.001, b / 100 + (half - running) / histogram[b] / 100)


def test_released_by_hand():
    # All 10 in bin 0: half is 5, reached half way through the bin.
    assert released_threshold([10] + [0] * 99) == pytest.approx(0.005)
    # 2 in bin 0, 8 in bin 1: bin 0 ends at 2 < 5, the slip adds 0, so bin 1
    # starts at 0: 0.01 + 5 / 8 / 100.
    value = released_threshold([2, 8] + [0] * 98)
    assert value == pytest.approx(0.01 + 5 / 8 / 100)
    # Never reached: the sum of bin numbers passes half in an empty bin.
    assert released_threshold([1000, 1000] + [0] * 98) == pytest.approx(0.01)
    assert released_threshold([0] * 100) == 0.001


@pytest.mark.parametrize('seed', range(8))
def test_released_against_the_description(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 400))
    entropy = torch.from_numpy(rng.random(count).astype(np.float32) ** 4)
    entropy[0] = 1.0
    estimator = ReleasedThresholds(2, 'cpu')
    classes = torch.zeros(count, dtype=torch.long)
    estimator.update(entropy, classes)
    estimator.end_pass()
    bins = np.minimum((entropy.numpy() * np.float32(100)).astype(int), 99)
    histogram = np.bincount(bins, minlength=100).tolist()
    expected = [slow_released(histogram), 0.001]
    np.testing.assert_allclose(estimator.thresholds(), expected, rtol=1e-6)
