"""The context term of RBC against loops over pixels."""

from dataclasses import replace

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import assert_same, outputs

from mmseg_rbc.models.losses import squared_distance


def consistency_case():
    student = outputs(5, batch=4, num_views=2)
    teacher = outputs(3, batch=4, num_views=2, seed=1)
    g = torch.Generator().manual_seed(3)
    full = torch.randint(0, 5, (2, 10, 14), generator=g)
    full[0, :2] = 255
    erased = full.clone()
    erased[full >= 3] = 255
    return student, teacher, torch.cat([full, erased])


def test_consistency_of_the_paper():
    student, teacher, target = consistency_case()
    loss = MODELS.build(dict(type='ContextConsistencyLoss', weight=0.7))
    total, count = 0, 0
    for b in range(2):
        for y in range(10):
            for x in range(14):
                if target[b, y, x] in (1, 2):
                    count += 1
                    for c in (1, 2):
                        a = student.logits[b + 2, c, y, x]
                        total = total + (a - student.logits[b, c, y, x]) ** 2
    assert_same(
        loss(student, teacher, target),
        0.7 * total / count,
        [student.small_logits],
    )
    (grad,) = torch.autograd.grad(
        loss(student, teacher, target), student.small_logits
    )
    assert grad[:2, 1:3].abs().sum() > 0 and grad[2:, 1:3].abs().sum() > 0
    assert not grad[:, 0].any() and not grad[:, 3:].any()


def test_consistency_as_released():
    student, teacher, target = consistency_case()
    loss = MODELS.build(
        dict(type='ContextConsistencyLoss', pairing='teacher', weight=0.7)
    )
    total, count = 0, 0
    for b in range(4):
        for y in range(10):
            for x in range(14):
                if target[b, y, x] in (1, 2):
                    count += 1
                    for c in (0, 1, 2):
                        a = student.logits[b, c, y, x]
                        total = total + (a - teacher.logits[b, c, y, x]) ** 2
    assert_same(
        loss(student, teacher, target),
        0.7 * total / count,
        [student.small_logits],
    )


@pytest.mark.parametrize('pairing', ['student', 'teacher'])
def test_relative_consistency(pairing):
    student, teacher, target = consistency_case()
    loss = MODELS.build(
        dict(
            type='ContextConsistencyLoss',
            pairing=pairing,
            weight=0.7,
            relative=True,
        )
    )
    images, first = (2, 1) if pairing == 'student' else (4, 0)
    total, count = 0, 0
    for b in range(images):
        for y in range(10):
            for x in range(14):
                if target[b, y, x] in (1, 2):
                    count += 1
                    z = student.logits[b, first:3, y, x]
                    if pairing == 'student':
                        other = student.logits[b + 2, first:3, y, x]
                    else:
                        other = teacher.logits[b, first:3, y, x]
                    size = (z.square().sum() + other.square().sum()) / 2
                    total = total + (z - other).square().sum() / size
    assert_same(
        loss(student, teacher, target),
        0.7 * total / count,
        [student.small_logits],
    )


def test_smaller_logits_do_not_satisfy_the_relative_consistency():
    student, teacher, target = consistency_case()
    losses = [
        MODELS.build(dict(type='ContextConsistencyLoss', relative=relative))
        for relative in (False, True)
    ]
    absolute, relative = (loss(student, teacher, target) for loss in losses)
    student.small_logits = 0.5 * student.small_logits
    torch.testing.assert_close(
        losses[0](student, teacher, target), absolute / 4
    )
    torch.testing.assert_close(losses[1](student, teacher, target), relative)


def test_consistency_without_old_pixels_is_0():
    student, teacher, target = consistency_case()
    target = torch.where((target == 1) | (target == 2), 0, target)
    for pairing in ('student', 'teacher'):
        loss = MODELS.build(
            dict(type='ContextConsistencyLoss', pairing=pairing)
        )
        assert loss(student, teacher, target).item() == 0


def test_distance_of_equal_maps_is_0():
    student, teacher, target = consistency_case()
    full = student.small_logits.detach()[:2]
    student.small_logits = torch.cat([full, full])
    loss = MODELS.build(dict(type='ContextConsistencyLoss'))
    assert loss(student, teacher, target).item() == 0


def test_distance_by_hand():
    """Of two pixels one counts: (1 + 4) / 2."""
    difference = torch.tensor([[[[1.0, 5.0]], [[2.0, 5.0]]]])
    mask = torch.tensor([[[True, False]]])
    assert squared_distance(difference, mask) == 2.5


def test_consistency_needs_duplets():
    student, teacher, target = consistency_case()
    student.num_views = 1
    loss = MODELS.build(dict(type='ContextConsistencyLoss'))
    with pytest.raises(ValueError, match='needs image duplets: add erase'):
        loss(student, teacher, target)
    with pytest.raises(ValueError, match="pairing='x' is neither"):
        MODELS.build(dict(type='ContextConsistencyLoss', pairing='x'))


def test_consistency_without_background():
    """Class 0 is an old class like the others."""
    student, teacher, target = consistency_case()
    student = replace(student, first_class=0)
    loss = MODELS.build(dict(type='ContextConsistencyLoss', weight=0.7))
    is_old = target[:2] < 3
    full, erased = student.logits[:, :3].chunk(2)
    distance = (erased - full).square().sum(1)[is_old].mean()
    assert_same(
        loss(student, teacher, target), 0.7 * distance, [student.small_logits]
    )
