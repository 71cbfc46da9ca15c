"""Every loss against a slow and obvious re-derivation, in float64."""

import math

import pytest
import torch
from mmseg.registry import MODELS

from mmseg_rbc.models.losses import (
    balance_weight,
    local_pod_distance,
    pixel_cross_entropy,
    squared_distance,
)
from mmseg_rbc.models.losses.local_pod import local_pod_embedding
from mmseg_rbc.models.outputs import Outputs

torch.manual_seed(0)


def outputs(num_classes: int, batch: int = 2, num_views: int = 1, seed=0):
    """Random outputs whose tensors want gradients."""
    g = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.randn(*shape, generator=g).requires_grad_()

    return Outputs(
        feats=(rand(batch, 3, 8, 12), rand(batch, 5, 5, 7)),
        head_inputs=(),
        embedding=rand(batch, 4, 5, 7),
        small_logits=rand(batch, num_classes, 5, 7),
        size=(10, 14),
        num_views=num_views,
    )


def assert_same(first, second, tensors):
    """Same value and same gradients, to 1e-5."""
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-7)
    a = torch.autograd.grad(first, tensors, retain_graph=True)
    b = torch.autograd.grad(second, tensors, retain_graph=True)
    for x, y in zip(a, b):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-7)


# Cross entropy


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


# Balance weight (eq. 8)


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


# Local POD


def slow_phi(feature: torch.Tensor) -> torch.Tensor:
    """phi of one image: loops over scales, cells, rows and columns."""
    height, width = feature.shape[-2:]
    values = []
    for s in (1, 2, 4):
        kh, kw = height // s, width // s
        for i in range(s):
            for j in range(s):
                cell = feature[:, i * kh : (i + 1) * kh, j * kw : (j + 1) * kw]
                values.append(cell.mean(2).flatten())
                values.append(cell.mean(1).flatten())
    return torch.cat(values)


@pytest.mark.parametrize('size', [(8, 8), (5, 7), (9, 4), (4, 16)])
def test_pod_against_loops(size):
    g = torch.Generator().manual_seed(2)
    student = torch.randn(3, 2, *size, generator=g).requires_grad_()
    teacher = torch.randn(3, 2, *size, generator=g)
    distances = [
        (slow_phi(t**2) - slow_phi(s**2)).pow(2).sum().sqrt()
        for s, t in zip(student, teacher)
    ]
    expected = sum(distances) / 3
    assert_same(local_pod_distance(student, teacher), expected, [student])


def test_pod_by_hand():
    """A 1x1 map with one channel: one cell, whose two means are its value."""
    student, teacher = (
        torch.full((1, 1, 1, 1), 2.0),
        torch.full((1, 1, 1, 1), 3.0),
    )
    # Scales 2 and 4 have no cell; scale 1 gives (9 - 4) twice.
    distance = local_pod_distance(student, teacher).item()
    assert distance == pytest.approx(5 * math.sqrt(2))


def test_pod_of_equal_maps_is_0_with_gradient_0():
    x = torch.randn(2, 3, 6, 6).requires_grad_()
    distance = local_pod_distance(x, x.detach().clone())
    (grad,) = torch.autograd.grad(distance, x)
    assert distance.item() == 0 and (grad == 0).all()


def test_pod_embedding_counts():
    # Per scale and channel: s * s cells with kh + kw means.
    size = local_pod_embedding(torch.zeros(1, 2, 8, 12)).shape[1]
    assert size == 2 * (20 + 4 * 10 + 16 * 5)


def test_pod_loss_of_all_layers():
    student, teacher = outputs(7), outputs(4, seed=1)
    loss = MODELS.build(
        dict(type='LocalPODLoss', weight=0.3, logits_weight=0.2)
    )

    def distance(a, b):
        norms = [
            (slow_phi(y**2) - slow_phi(x**2)).pow(2).sum().sqrt()
            for x, y in zip(a, b)
        ]
        return sum(norms) / len(norms)

    z = student.small_logits
    folded = torch.cat(
        [(z[:, 0] + z[:, 4] + z[:, 5] + z[:, 6])[:, None], z[:, 1:4]], 1
    )
    expected = 0.2 * distance(folded, teacher.small_logits)
    for a, b in zip(student.feats, teacher.feats):
        expected = expected + 0.3 * distance(a, b)
    expected = expected + 0.3 * distance(student.embedding, teacher.embedding)
    expected = expected / 4 * math.sqrt(7 / 3)
    tensors = [*student.feats, student.embedding, student.small_logits]
    assert_same(loss(student, teacher, None), expected, tensors)


# Consistency


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


def test_consistency_without_old_pixels_is_0():
    student, teacher, target = consistency_case()
    target = torch.where((target == 1) | (target == 2), 0, target)
    for pairing in ('student', 'teacher'):
        loss = MODELS.build(
            dict(type='ContextConsistencyLoss', pairing=pairing)
        )
        assert loss(student, teacher, target).item() == 0


def test_distance_of_equal_maps_is_0():
    x = torch.randn(3, 4, 4)
    mask = torch.rand(4, 4) > 0.5
    assert squared_distance(x, x, mask).item() == 0


def test_consistency_needs_duplets():
    student, teacher, target = consistency_case()
    student.num_views = 1
    loss = MODELS.build(dict(type='ContextConsistencyLoss'))
    with pytest.raises(ValueError, match='needs image duplets: add erase'):
        loss(student, teacher, target)
    with pytest.raises(ValueError, match="pairing='x' is neither"):
        MODELS.build(dict(type='ContextConsistencyLoss', pairing='x'))
