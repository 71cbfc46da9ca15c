"""Distillation of LwF, LwF-MC, ILT and MiB, by loops."""

from dataclasses import replace

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
    folded_log_probs,
    knowledge_distillation,
    old_log_probs,
)


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


def test_unbiased_distillation_without_background_is_that_of_lwf():
    """For the teacher a new class was any old one, not class 0."""
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    student = replace(student, first_class=0)
    plain, unbiased = (
        MODELS.build(dict(type='KnowledgeDistillationLoss', unbiased=u))
        for u in (False, True)
    )
    found = unbiased(student, teacher, None)
    assert_same(found, plain(student, teacher, None), [student.small_logits])
