"""Every criterion against a slow and obvious re-derivation."""

import math

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import (
    OLD,
    SEEN,
    assert_same,
    bce,
    labels,
    outputs,
    pixels,
    slow_log_prob,
)

from mmseg_rbc.models.losses import (
    balance_weight,
    one_vs_rest_cross_entropy,
    pixel_cross_entropy,
    unbiased_cross_entropy,
)


def test_cross_entropy_by_hand():
    logits = torch.zeros(1, 2, 1, 3)
    logits[0, 1, 0, 0] = math.log(3)  # p = (1/4, 3/4)
    target = torch.tensor([[[1, 0, 255]]])
    expected = (math.log(4 / 3) + math.log(2) + 0) / 3
    assert pixel_cross_entropy(logits, target).item() == pytest.approx(
        expected
    )
    weight = torch.tensor([[[2.0, 0.0, 9.0]]])
    weighted = pixel_cross_entropy(logits, target, weight).item()
    assert weighted == pytest.approx(2 * math.log(4 / 3) / 3)


def test_cross_entropy_against_a_loop():
    g = torch.Generator().manual_seed(1)
    logits = torch.randn(2, 5, 3, 4, generator=g).requires_grad_()
    target = torch.randint(0, 5, (2, 3, 4), generator=g)
    target[0, 0, :2] = 255
    weight = torch.rand(2, 3, 4, generator=g)
    total = 0
    for b in range(2):
        for y in range(3):
            for x in range(4):
                c = target[b, y, x]
                if c != 255:
                    z = logits[b, :, y, x]
                    loss = -(z[c].exp() / z.exp().sum()).log()
                    total = total + weight[b, y, x] * loss
    assert_same(
        pixel_cross_entropy(logits, target, weight), total / 24, [logits]
    )
    per_image = weight[:, :1, :1]
    expanded = pixel_cross_entropy(logits, target, per_image)
    full = pixel_cross_entropy(logits, target, per_image.expand(2, 3, 4))
    torch.testing.assert_close(expanded, full)


def test_ignored_pixels_get_no_gradient():
    logits = torch.randn(1, 3, 2, 2).requires_grad_()
    target = torch.tensor([[[0, 255], [255, 2]]])
    (grad,) = torch.autograd.grad(pixel_cross_entropy(logits, target), logits)
    assert not grad[:, :, target[0] == 255].any()
    assert grad[:, :, target[0] != 255].abs().min() > 0


def test_only_ignored_pixels_cost_nothing():
    logits = torch.randn(1, 3, 2, 2).requires_grad_()
    loss = pixel_cross_entropy(logits, torch.full((1, 2, 2), 255))
    assert loss.item() == 0


def test_balance_weight_by_hand():
    # Old: 1 and 2 of O = 3. First image: 3 old, 2 new pixels; second: none
    # new, which counts as one.
    target = torch.tensor([[[0, 1, 2], [2, 3, 4]], [[1, 255, 0], [0, 0, 0]]])
    weight = balance_weight(target, 3)
    eta = 0.5 + 1 / (1 + math.exp(-3 / 2))
    alone = 0.5 + 1 / (1 + math.exp(-1))
    expected = torch.tensor(
        [[[1, eta, eta], [eta, 1, 1]], [[alone, 1, 1], [1, 1, 1]]]
    )
    torch.testing.assert_close(weight, expected)


def test_unbiased_cross_entropy():
    student, target = outputs(SEEN), labels()
    weight = torch.rand(2, 10, 14, generator=torch.Generator().manual_seed(5))
    total = 0
    for z, y, w in pixels(student.logits, target, weight):
        if y != 255:
            classes = range(OLD) if y < OLD else [int(y)]
            total = total - w * slow_log_prob(z, classes)
    criterion = MODELS.build(dict(type='UnbiasedCrossEntropy'))
    loss = criterion(student, target, weight, OLD)
    assert_same(loss, total / weight.numel(), [student.small_logits])


def test_unbiased_cross_entropy_that_keeps_old_labels():
    """Background is any old class; an old label is that class alone."""
    student, target = outputs(SEEN), labels()
    total = 0
    for z, y in pixels(student.logits, target):
        if y != 255:
            classes = range(OLD) if y == 0 else [int(y)]
            total = total - slow_log_prob(z, classes)
    kept = dict(type='UnbiasedCrossEntropy', keep_labels=True)
    loss = MODELS.build(kept)(student, target, None, OLD)
    assert_same(loss, total / target.numel(), [student.small_logits])


@pytest.mark.parametrize('num_old', [0, 1])
def test_unbiased_cross_entropy_with_one_old_class_is_cross_entropy(num_old):
    student, target = outputs(SEEN), labels()
    unbiased = unbiased_cross_entropy(student.logits, target, None, num_old)
    plain = pixel_cross_entropy(student.logits, target)
    assert_same(unbiased, plain, [student.small_logits])


def test_unbiased_cross_entropy_does_not_tell_old_classes_apart():
    student, target = outputs(SEEN), labels()
    merged = target.where(target >= OLD, 0)
    a, b = (
        unbiased_cross_entropy(student.logits, t, None, OLD)
        for t in (target, merged)
    )
    assert a == b


def test_one_vs_rest_cross_entropy():
    student, target = outputs(SEEN), labels()
    weight = torch.rand(2, 1, 1, generator=torch.Generator().manual_seed(5))
    total = 0
    for z, y, w in pixels(student.logits, target, weight.expand(target.shape)):
        if y != 255:
            terms = [bce(z[c], float(y == c)) for c in range(SEEN)]
            total = total + w * sum(terms)
    criterion = MODELS.build(dict(type='OneVsRestCrossEntropy'))
    loss = criterion(student, target, weight, OLD)
    assert_same(loss, total / target.numel(), [student.small_logits])


def test_one_vs_rest_cross_entropy_of_huge_logits_is_finite():
    logits = torch.tensor([1e4, -1e4]).reshape(1, 2, 1, 1)
    target = torch.ones(1, 1, 1, dtype=torch.long)
    assert one_vs_rest_cross_entropy(logits, target).item() == 2e4


@pytest.mark.parametrize(
    'name',
    ['PixelCrossEntropy', 'UnbiasedCrossEntropy', 'OneVsRestCrossEntropy'],
)
def test_criterion_of_outputs_and_of_full_size_logits(name):
    student, target = outputs(SEEN), labels()
    weight = torch.rand(2, 1, 1, generator=torch.Generator().manual_seed(6))
    criterion = MODELS.build(dict(type=name))
    slow = criterion(student.logits, target, weight, OLD)
    fast = criterion(student, target, weight, OLD)
    assert_same(fast, slow, [student.small_logits])


def test_balance_weight_without_background():
    """Class 0 is an old class like the others."""
    target = torch.tensor([[[0, 0, 1, 2, 255]]])
    eta = 0.5 + 1 / (1 + math.exp(-3))
    weight = balance_weight(target, 2, first_class=0)
    assert weight.flatten().tolist() == pytest.approx([eta] * 3 + [1, 1])
