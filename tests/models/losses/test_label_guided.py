"""LGKD by a loop over pixels, and its limits."""

from dataclasses import replace

import torch
from mmseg.registry import MODELS
from model_cases import (
    OLD,
    SEEN,
    assert_same,
    labels,
    outputs,
    pixels,
    slow_log_prob,
)

from mmseg_rbc.models.losses import (
    knowledge_distillation,
    label_guided_distillation,
)

LOSS = dict(type='LabelGuidedDistillationLoss')


def slow(z: torch.Tensor, t: torch.Tensor, y: int) -> torch.Tensor:
    """The loss of one pixel."""
    if y == 255:
        return 0 * z.sum()
    p = [*(t.exp() / t.exp().sum()), *[0.0] * (SEEN - OLD)]
    weight = 10
    if y >= OLD:
        p[y], p[0], weight = p[0], 0.0, 2
    return -weight * sum(p[c] * slow_log_prob(z, [c]) for c in range(SEEN))


def test_against_a_loop():
    """Labels (10, 14) of logits (5, 7): every second row and column."""
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    small = labels()[:, ::2, ::2]
    assert {0, 1, OLD, SEEN - 1, 255} <= set(small.unique().tolist())
    student = replace(student, labels=labels())
    assert torch.equal(student.small_labels, small)
    maps = (student.small_logits, teacher.small_logits, small)
    total = sum(slow(z, t, int(y)) for z, t, y in pixels(*maps))
    # What the teacher refined has no effect.
    refined = torch.zeros_like(labels())
    loss = MODELS.build(LOSS)(student, teacher, refined)
    count = sum(int(y) != 255 for _, _, y in pixels(*maps))
    assert 0 < count < small.numel(), 'void is in neither sum'
    assert_same(loss, total / count, [student.small_logits])


def test_void_alone_is_no_loss():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    void = torch.full_like(labels(), 255)
    loss = MODELS.build(LOSS)(replace(student, labels=void), teacher, void)
    (gradient,) = torch.autograd.grad(loss, student.small_logits)
    assert loss == 0 and not gradient.any()


def test_weights():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    student = replace(student, labels=labels())
    parts = [
        MODELS.build(dict(LOSS, old_weight=old, new_weight=new))(
            student, teacher, labels()
        )
        for old, new in ((3.0, 0.0), (0.0, 5.0), (3.0, 5.0))
    ]
    assert min(parts[:2]) > 0
    torch.testing.assert_close(parts[0] + parts[1], parts[2])


def test_without_new_pixels_it_is_distillation_over_all_classes():
    """LwF's with K classes, of which the teacher gives the new ones zero."""
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    target = labels()[:, ::2, ::2] % OLD
    found = label_guided_distillation(
        student.small_logits, teacher.small_logits, target, old_weight=1.0
    )
    log_probs = student.small_logits.log_softmax(1)[:, :OLD]
    plain = OLD * knowledge_distillation(log_probs, teacher.small_logits)
    assert_same(found, plain, [student.small_logits])


def test_erased_views_distill_what_is_left():
    """Their new pixels are void: the loss is that of the other pixels."""
    student = outputs(SEEN, batch=1)
    teacher = outputs(OLD, batch=1, seed=1)
    full = labels()[:1]
    erased = full.masked_fill(full >= OLD, 255)
    module = MODELS.build(dict(LOSS, new_weight=0.0))
    first, second = (
        module(view, teacher, view.labels) * (view.small_labels != 255).sum()
        for view in (replace(student, labels=y) for y in (full, erased))
    )
    assert_same(first, second, [student.small_logits])
    module, view = MODELS.build(LOSS), replace(student, labels=full)
    count = (view.small_labels != 255).sum()
    assert module(view, teacher, full) * count > first


def test_teacher_gets_no_gradient_when_detached():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    teacher = replace(teacher, small_logits=teacher.small_logits.detach())
    loss = MODELS.build(LOSS)(replace(student, labels=labels()), teacher, None)
    (gradient,) = torch.autograd.grad(loss, student.small_logits)
    # A softmax only moves logits against each other.
    assert gradient.sum(1).abs().max() < 1e-6 < gradient.abs().max()
