import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from model_cases import teacher_outputs, trained_network

from mmseg_rbc.models.pseudo_labelers import normalized_entropy


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


@pytest.mark.parametrize('keep', [False, True])
def test_labels_that_images_carry(keep):
    """O = 3, the teacher is sure of 1: label 2 stays, or is background."""
    logits = torch.zeros(1, 3, 1, 4)
    logits[0, 1] = 9
    cfg = dict(type='EntropyPseudoLabeler', keep_labels=keep)
    labeler = MODELS.build(cfg)
    labeler.thresholds = torch.tensor([0.01, 0.01, 0.01])
    target = torch.tensor([[[0, 2, 3, 255]]])
    refined, beta = labeler(teacher_outputs(logits), target, num_seen=4)
    assert refined.tolist() == [[[1, 2 if keep else 1, 3, 255]]]
    assert beta.tolist() == [1.0]


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


def test_estimate_is_the_median_over_background():
    """Two batches; labels other than 0 do not count."""
    teacher = trained_network(3).eval()
    g = torch.Generator().manual_seed(0)
    batches = [
        (
            torch.randn(2, 3, 32, 32, generator=g),
            torch.randint(0, 2, (2, 32, 32), generator=g),
        )
        for _ in range(2)
    ]
    labeler = MODELS.build(
        dict(type='EntropyPseudoLabeler', estimator='median')
    )
    found = labeler.estimate(teacher, lambda: batches, num_seen=5)
    values = [[], [], []]
    for images, labels in batches:
        logits = F.interpolate(
            teacher(images, mode='tensor'), (32, 32), mode='bilinear'
        )
        for z, label in zip(logits, labels):
            u = normalized_entropy(z, 5)
            for c in range(3):
                chosen = (label == 0) & (z.argmax(0) == c)
                values[c] += u[chosen].tolist()
    assert all(values), 'every class is predicted somewhere'
    expected = [
        max(0.001, sorted(column)[(len(column) - 1) // 2]) for column in values
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert labeler.thresholds is None, 'the hook sets them'


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
