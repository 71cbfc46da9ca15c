import math

import numpy as np
import pytest
import torch
from mmseg.registry import MODELS

from mmseg_rbc.models.outputs import Outputs
from mmseg_rbc.models.pseudo_labelers import (
    MedianThresholds,
    ReleasedThresholds,
    normalized_entropy,
)
from mmseg_rbc.models.pseudo_labelers.thresholds import released_threshold


def teacher_outputs(logits: torch.Tensor) -> Outputs:
    size = (logits.shape[2], logits.shape[3])
    return Outputs((), (), logits, logits, size)


def test_entropy_by_hand():
    # Uniform over 4: ln 4 / (4 ln 4 ln 6) = 1 / (4 ln 6).
    u = normalized_entropy(torch.zeros(4, 1), num_seen=6)
    assert u.item() == pytest.approx(1 / (4 * math.log(6)), rel=1e-6)
    sure = normalized_entropy(torch.tensor([[1000.0], [0.0]]), num_seen=3)
    assert sure.item() == 0 and not torch.signbit(sure).any()


def test_entropy_against_a_loop():
    logits = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    expected = []
    for z in logits.double().T:
        p = z.exp() / z.exp().sum()
        h = -sum(q * math.log(q + 1e-8) for q in p.tolist())
        expected.append(h / (5 * math.log(5)) / math.log(8))
    u = normalized_entropy(logits, num_seen=8)
    np.testing.assert_allclose(u, expected, rtol=1e-5)


def test_pseudo_labels_by_hand():
    """O = 3; one row of pixels: sure of 1, unsure, sure of 0, new, void."""
    logits = torch.zeros(1, 3, 1, 5)
    logits[0, 1, 0, 0] = 9
    logits[0, 0, 0, 2] = 9
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    labeler.thresholds = torch.tensor([0.01, 0.01, 0.01])
    target = torch.tensor([[[0, 0, 0, 3, 255]]])
    refined, beta = labeler(teacher_outputs(logits), target, num_seen=4)
    assert refined.tolist() == [[[1, 255, 0, 3, 255]]]
    assert beta.tolist() == [pytest.approx(2 / 3)]
    assert target.tolist() == [[[0, 0, 0, 3, 255]]], 'not in place'


def test_threshold_of_the_predicted_class_decides():
    logits = torch.tensor([3.0, 0.0]).reshape(1, 2, 1, 1).repeat(1, 1, 1, 2)
    logits[0, :, 0, 1] = torch.tensor([0.0, 3.0])
    u = normalized_entropy(logits[0, :, 0, 0], 3).item()
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    labeler.thresholds = torch.tensor([u, u * 1.001])
    refined, beta = labeler(
        teacher_outputs(logits), torch.zeros(1, 1, 2, dtype=torch.long), 3
    )
    # Strictly below: the first pixel equals its threshold.
    assert refined.tolist() == [[[255, 1]]] and beta.tolist() == [0.5]


def test_image_without_background_has_beta_0():
    logits = torch.zeros(2, 2, 1, 2)
    target = torch.tensor([[[2, 255]], [[0, 2]]])
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    labeler.thresholds = torch.tensor([9.0, 9.0])
    assert labeler(teacher_outputs(logits), target, 3)[1].tolist() == [0, 1]
    labeler.adaptive = False
    assert labeler(teacher_outputs(logits), target, 3)[1].tolist() == [1, 1]


def test_naive_and_confident_labels():
    logits = torch.zeros(1, 2, 1, 3)
    logits[0, 1, 0] = torch.tensor([math.log(9), math.log(8), -5])
    target = torch.tensor([[[0, 0, 5]]])
    naive = MODELS.build(dict(type='NaivePseudoLabeler'))
    refined, beta = naive(teacher_outputs(logits), target, 6)
    assert refined.tolist() == [[[1, 1, 5]]] and beta.tolist() == [1]
    sure = MODELS.build(
        dict(type='ConfidencePseudoLabeler', confidence=0.899, adaptive=True)
    )
    refined, beta = sure(teacher_outputs(logits), target, 6)
    assert refined.tolist() == [[[1, 255, 5]]] and beta.tolist() == [0.5]
    with pytest.raises(ValueError, match='confidence=2 is not in'):
        MODELS.build(dict(type='ConfidencePseudoLabeler', confidence=2))


def test_missing_thresholds():
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    with pytest.raises(RuntimeError, match='add .*PseudoThresholdHook'):
        labeler(
            teacher_outputs(torch.zeros(1, 2, 1, 1)),
            torch.zeros(1, 1, 1, dtype=torch.long),
            3,
        )
    assert not labeler.state_dict()
    with pytest.raises(ValueError, match="estimator='mean' is unknown"):
        MODELS.build(dict(type='EntropyPseudoLabeler', estimator='mean'))


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
