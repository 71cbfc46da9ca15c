"""Local POD against loops over scales, cells, rows and columns."""

import math
from dataclasses import replace

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import assert_same, outputs

from mmseg_rbc.models.losses import local_pod_distance
from mmseg_rbc.models.losses.local_pod import local_pod_embedding


def slow_phi(feature: torch.Tensor) -> torch.Tensor:
    """phi of one image: loops over scales, cells, rows and columns."""
    height, width = feature.shape[-2:]
    values = []
    for s in (1, 2, 4):
        if s > min(height, width):
            continue
        kh, kw = height // s, width // s
        for i in range(s):
            for j in range(s):
                cell = feature[:, i * kh : (i + 1) * kh, j * kw : (j + 1) * kw]
                values.append(cell.mean(2).flatten())
                values.append(cell.mean(1).flatten())
    return torch.cat(values)


@pytest.mark.parametrize(
    'size', [(8, 8), (5, 7), (9, 4), (4, 16), (6, 6), (4, 4), (2, 4), (1, 3)]
)
@pytest.mark.parametrize('layout', ['contiguous_format', 'channels_last'])
@pytest.mark.parametrize('chunk', [1, 2**17])
def test_pod_against_loops(size, layout, chunk, monkeypatch):
    """In both memory formats, which pool differently, and in pieces."""
    monkeypatch.setattr('mmseg_rbc.models.losses.local_pod.CHUNK', chunk)
    g = torch.Generator().manual_seed(2)
    maps = torch.randn(2, 3, 2, *size, generator=g)
    student, teacher = (
        x.to(memory_format=getattr(torch, layout)) for x in maps
    )
    student.requires_grad_()
    distances = [
        (slow_phi(t**2) - slow_phi(s**2)).pow(2).sum().sqrt()
        for s, t in zip(student, teacher)
    ]
    expected = sum(distances) / 3
    assert_same(local_pod_distance(student, teacher), expected, [student])


def test_gradient_of_half_precision():
    """It has the kind of the features, and is added up in float32."""
    g = torch.Generator().manual_seed(3)
    student, teacher = torch.randn(2, 3, 4, 8, 8, generator=g).half()
    expected, found = student.float().requires_grad_(), student.clone()
    local_pod_distance(expected, teacher.float()).backward()
    local_pod_distance(found.requires_grad_(), teacher).backward()
    assert found.grad.dtype == torch.float16
    assert torch.equal(found.grad, expected.grad.half())


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
    parts = local_pod_embedding(torch.zeros(1, 2, 8, 12))
    assert sum(part.numel() for part in parts) == 2 * (20 + 4 * 10 + 16 * 5)


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


def test_relative_distance_by_hand():
    """Of each image by itself, then the mean."""
    g = torch.Generator().manual_seed(0)
    student, teacher = torch.rand(2, 3, 4, 8, 8, generator=g)
    expected = []
    for a, b in zip(student, teacher):
        phi_a, phi_b = (slow_phi(x**2) for x in (a, b))
        expected.append((phi_b - phi_a).norm() / phi_b.norm())
    found = local_pod_distance(student, teacher, relative=True)
    torch.testing.assert_close(found, torch.stack(expected).mean())


@pytest.mark.parametrize('scale', [1e-3, 7.0])
def test_relative_distance_does_not_depend_on_the_network(scale):
    """Scale of the features, number of channels and size of the map."""
    g = torch.Generator().manual_seed(1)
    student, teacher = torch.rand(2, 2, 3, 8, 8, generator=g)
    base = local_pod_distance(student, teacher, relative=True)
    assert base > 0.1
    for change in (
        lambda x: scale * x,
        lambda x: x.repeat(1, 5, 1, 1),
        lambda x: x.repeat_interleave(2, -1).repeat_interleave(2, -2),
    ):
        found = local_pod_distance(
            change(student), change(teacher), relative=True
        )
        torch.testing.assert_close(found, base, rtol=1e-4, atol=0)
        plain = local_pod_distance(change(student), change(teacher))
        before = local_pod_distance(student, teacher)
        assert not torch.isclose(plain, before, rtol=0.05), 'absolute'


def test_relative_distance_of_a_silent_teacher_is_finite():
    student = torch.ones(1, 2, 4, 4, requires_grad=True)
    same = local_pod_distance(0 * student, torch.zeros(1, 2, 4, 4), True)
    same.backward()
    assert same == 0 and torch.isfinite(student.grad).all()
    other = local_pod_distance(9 * student, torch.zeros(1, 2, 4, 4), True)
    (gradient,) = torch.autograd.grad(other, student)
    assert other == 0 and not gradient.any()


def test_large_logits_of_float16_are_folded_in_float32():
    student, teacher = outputs(7), outputs(4, seed=1)
    student.small_logits = torch.full((2, 7, 5, 7), 3e4, dtype=torch.float16)
    loss = MODELS.build(dict(type='LocalPODLoss', weight=0, logits_weight=1))
    found = loss(student, teacher, None)
    student.small_logits = student.small_logits.float()
    assert found == loss(student, teacher, None) and found < math.inf


def test_new_logits_without_background_are_left_out():
    """There is no channel that they were part of."""
    student, teacher = outputs(5), outputs(3, seed=1)
    loss = MODELS.build(dict(type='LocalPODLoss', weight=0, logits_weight=6))
    expected = math.sqrt(5 / 2) * 6 / 4
    expected *= local_pod_distance(
        student.small_logits[:, :3], teacher.small_logits
    )
    without = replace(student, first_class=0)
    found = loss(without, teacher, None)
    assert_same(found, expected, [student.small_logits])
    assert loss(student, teacher, None) != found
