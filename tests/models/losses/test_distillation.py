"""Criteria and distillation of LwF, LwF-MC, ILT and MiB, by loops."""

import pytest
import torch
from mmseg.registry import MODELS
from test_losses import assert_same, outputs

from mmseg_rbc.models.losses import (
    folded_log_probs,
    knowledge_distillation,
    old_log_probs,
    one_vs_rest_cross_entropy,
    pixel_cross_entropy,
    unbiased_cross_entropy,
)

OLD, SEEN = 4, 6


def labels(seed: int = 3) -> torch.Tensor:
    """Labels of old, new and ignored pixels."""
    g = torch.Generator().manual_seed(seed)
    target = torch.randint(0, SEEN, (2, 10, 14), generator=g)
    target[:, :2, :3] = 255
    return target


def pixels(*maps):
    """Yield the vectors of all pixels of maps (B, C, H, W) or (B, H, W)."""
    batch, height, width = maps[0].shape[0], *maps[0].shape[-2:]
    for b in range(batch):
        for y in range(height):
            for x in range(width):
                yield [m[b, ..., y, x] for m in maps]


def slow_log_prob(z: torch.Tensor, classes) -> torch.Tensor:
    """log of the summed softmax of some classes."""
    return (sum(z[c].exp() for c in classes) / z.exp().sum()).log()


def bce(z: torch.Tensor, t) -> torch.Tensor:
    p = 1 / (1 + (-z).exp())
    return -(t * p.log() + (1 - t) * (1 - p).log())


def test_unbiased_cross_entropy():
    student, target = outputs(SEEN), labels()
    weight = torch.rand(2, 10, 14, generator=torch.Generator().manual_seed(5))
    total = 0
    for z, y, w in pixels(student.logits, target, weight):
        if y != 255:
            classes = range(OLD) if y < OLD else [int(y)]
            total = total - w * slow_log_prob(z, classes)
    criterion = MODELS.build(dict(type='UnbiasedCrossEntropy'))
    loss = criterion(student.logits, target, weight, OLD)
    assert_same(loss, total / weight.numel(), [student.small_logits])


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
    loss = criterion(student.logits, target, weight, OLD)
    assert_same(loss, total / target.numel(), [student.small_logits])


def test_one_vs_rest_cross_entropy_of_huge_logits_is_finite():
    logits = torch.tensor([1e4, -1e4]).reshape(1, 2, 1, 1)
    target = torch.ones(1, 1, 1, dtype=torch.long)
    assert one_vs_rest_cross_entropy(logits, target).item() == 2e4


def test_knowledge_distillation():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    total = 0
    for z, t in pixels(student.logits, teacher.logits):
        q = t.exp() / t.exp().sum()
        old = z[:OLD]
        total = total - sum(q[c] * slow_log_prob(old, [c]) for c in range(OLD))
    module = MODELS.build(dict(type='KnowledgeDistillationLoss', weight=100))
    loss = module(student, teacher, labels())
    expected = 100 / OLD * total / labels().numel()
    assert_same(loss, expected, [student.small_logits])


def test_unbiased_knowledge_distillation():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    total = 0
    for z, t in pixels(student.logits, teacher.logits):
        q = t.exp() / t.exp().sum()
        total = total - q[0] * slow_log_prob(z, [0, *range(OLD, SEEN)])
        for c in range(1, OLD):
            total = total - q[c] * slow_log_prob(z, [c])
    module = MODELS.build(
        dict(type='KnowledgeDistillationLoss', weight=10, unbiased=True)
    )
    loss = module(student, teacher, labels())
    expected = 10 / OLD * total / labels().numel()
    assert_same(loss, expected, [student.small_logits])


def test_unbiased_distillation_without_new_classes_is_distillation():
    student, teacher = outputs(OLD), outputs(OLD, seed=1)
    plain, unbiased = (
        knowledge_distillation(f(student.logits, OLD), teacher.logits)
        for f in (old_log_probs, folded_log_probs)
    )
    assert_same(unbiased, plain, [student.small_logits])


def test_distillation_is_least_for_equal_logits():
    teacher = outputs(OLD)
    module = MODELS.build(dict(type='KnowledgeDistillationLoss'))
    least = module(teacher, teacher, None)
    (grad,) = torch.autograd.grad(
        knowledge_distillation(
            old_log_probs(teacher.logits, OLD), teacher.logits.detach()
        ),
        teacher.small_logits,
    )
    assert grad.abs().max() < 1e-8
    assert module(outputs(OLD, seed=1), teacher, None) > least


def test_sigmoid_distillation():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    total = 0
    for z, t in pixels(student.logits, teacher.logits):
        q = 1 / (1 + (-t).exp())
        total = total + sum(bce(z[c], q[c]) for c in range(OLD))
    module = MODELS.build(dict(type='SigmoidDistillationLoss', weight=10))
    loss = module(student, teacher, labels())
    assert_same(loss, 10 * total / labels().numel(), [student.small_logits])


def test_feature_distillation():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    a, b = student.feats[-1], teacher.feats[-1]
    squares = [(x - y) ** 2 for x, y in zip(a.flatten(), b.flatten())]
    module = MODELS.build(dict(type='FeatureDistillationLoss', weight=100))
    loss = module(student, teacher, labels())
    assert_same(loss, 100 * sum(squares) / len(squares), [a])
    assert module(student, student, labels()) == 0
