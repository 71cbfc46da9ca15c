import math

import numpy as np
import pytest
import torch

from mmseg_rbc.models.pseudo_labelers import (
    HistogramThresholds,
    MedianThresholds,
    PublishedThresholds,
)
from mmseg_rbc.models.pseudo_labelers.thresholds import histogram_threshold


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


def slow_published(histogram):
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


def test_published_by_hand():
    # All 10 in bin 0: half is 5, reached half way through the bin.
    assert histogram_threshold([10] + [0] * 99, slip=True) == pytest.approx(
        0.005
    )
    # 2 in bin 0, 8 in bin 1: bin 0 ends at 2 < 5, the slip adds 0, so bin 1
    # starts at 0: 0.01 + 5 / 8 / 100.
    value = histogram_threshold([2, 8] + [0] * 98, slip=True)
    assert value == pytest.approx(0.01 + 5 / 8 / 100)
    # Never reached: the sum of bin numbers passes half in an empty bin.
    assert histogram_threshold(
        [1000, 1000] + [0] * 98, slip=True
    ) == pytest.approx(0.01)
    assert histogram_threshold([0] * 100, slip=True) == 0.001


@pytest.mark.parametrize('seed', range(8))
def test_published_against_the_description(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 400))
    entropy = torch.from_numpy(rng.random(count).astype(np.float32) ** 4)
    entropy[0] = 1.0
    estimator = PublishedThresholds(2, 'cpu')
    classes = torch.zeros(count, dtype=torch.long)
    estimator.update(entropy, classes)
    estimator.end_pass()
    bins = np.minimum((entropy.numpy() * np.float32(100)).astype(int), 99)
    histogram = np.bincount(bins, minlength=100).tolist()
    expected = [slow_published(histogram), 0.001]
    np.testing.assert_allclose(estimator.thresholds(), expected, rtol=1e-6)


def test_histogram_without_the_slip_by_hand():
    # 2, 2 and 6: half is 5, a sixth into bin 2, which begins after 4.
    value = histogram_threshold([2, 2, 6] + [0] * 97, slip=False)
    assert value == pytest.approx(0.02 + 1 / 6 / 100)
    # The slip counts 0 + 1 before bin 2 instead of 4.
    value = histogram_threshold([2, 2, 6] + [0] * 97, slip=True)
    assert value == pytest.approx(0.02 + 4 / 6 / 100)


@pytest.mark.parametrize('seed', range(4))
def test_histogram_is_the_median_to_a_bin(seed):
    rng = np.random.default_rng(seed)
    entropy = torch.from_numpy(rng.random(999).astype(np.float32))
    estimator = HistogramThresholds(1, 'cpu')
    estimator.update(entropy, torch.zeros(999, dtype=torch.long))
    estimator.end_pass()
    (found,) = estimator.thresholds().tolist()
    assert found == pytest.approx(entropy.median().item(), abs=0.01)
