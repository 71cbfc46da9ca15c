"""What holds for every mean over pixels: criteria and distillation."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    CRITERIA,
    PIXEL_DISTANCES,
    SEEDS,
    Case,
    cases,
    generator,
)
from torch import Tensor

from mmseg_rbc.tasks import IGNORE_INDEX

PIXEL_LOSSES = {**CRITERIA, **PIXEL_DISTANCES}
# A logit of 50 leaves 4e-6 of float32: differences of losses are visible.
SCALES = (1.0, 0.0, 50.0)


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def as_pixels(maps: Tensor) -> Tensor:
    """Make every pixel an image of 1 x 1."""
    if maps.dim() == 3:
        return maps.reshape(-1, 1, 1)
    return maps.movedim(1, -1).reshape(-1, maps.shape[1], 1, 1)


@pytest.mark.parametrize('name', PIXEL_LOSSES)
@given(case=cases(scales=SCALES, strides=(1,)))
def test_loss_is_the_mean_over_its_pixels(name, case):
    """Each as an image of its own; void pixels count as 0."""
    pixels = case.changed(as_pixels)
    count = len(pixels.target)
    alone = [
        pixels.changed(lambda x, i=i: x[i : i + 1]).loss(name)
        for i in range(count)
    ]
    assert_close(case.loss(name), torch.stack(alone).mean())


@pytest.mark.parametrize('name', PIXEL_LOSSES)
@given(case=cases(scales=SCALES), seed=SEEDS)
def test_order_of_images_and_direction_do_not_matter(name, case, seed):
    expected = case.loss(name)
    order = torch.randperm(len(case.target), generator=generator(seed))
    assert_close(case.changed(lambda x: x[order]).loss(name), expected)
    for side in (-1, -2):
        flipped = case.changed(lambda x, side=side: x.flip(side))
        assert_close(flipped.loss(name), expected)


@pytest.mark.parametrize('name', CRITERIA)
@given(case=cases(scales=SCALES), seed=SEEDS)
def test_weights_of_images_are_factors(name, case, seed):
    g = generator(seed)
    weight = torch.rand(len(case.target), generator=g)
    alone = [
        case.changed(lambda x, i=i: x[i : i + 1]).loss(name)
        for i in range(len(weight))
    ]
    found = case.loss(name, weight[:, None, None])
    assert_close(found, (weight * torch.stack(alone)).mean())


@pytest.mark.parametrize('name', CRITERIA)
@given(case=cases(strides=(1,)))
def test_void_costs_exactly_nothing(name, case):
    (gradient,) = case.gradients(case.loss(name))
    void = case.target == IGNORE_INDEX
    assert not gradient.movedim(1, -1)[void].any()
    case = case.but(target=torch.full_like(case.target, IGNORE_INDEX))
    loss = case.loss(name)
    (gradient,) = case.gradients(loss)
    assert loss == 0 and not gradient.any()


@pytest.mark.parametrize('name', ['ce', 'unbiased_ce', 'kd', 'unbiased_kd'])
@given(case=cases(scales=SCALES), seed=SEEDS)
def test_a_constant_in_all_logits_of_a_pixel_changes_nothing(name, case, seed):
    """Not with a sigmoid for each class, as in LwF-MC: those have no sum."""
    expected, g = case.loss(name), generator(seed)
    for key in ('student', 'teacher'):
        logits = getattr(case, key).small_logits
        constant = torch.randn(logits[:, :1].shape, generator=g)
        moved = case.but(**{key: logits + 5 * constant})
        assert_close(moved.loss(name), expected)


@given(case=cases(scales=SCALES))
def test_unbiased_cross_entropy_knows_no_old_classes(case):
    """Of background alone it is cross entropy; old labels are background."""
    found, plain = case.loss('unbiased_ce'), case.loss('ce')
    is_old = case.target < case.num_old
    merged = case.but(target=case.target.masked_fill(is_old, 0))
    assert merged.loss('unbiased_ce') == found
    assert found <= plain + 1e-5
    only_background = case.but(teacher=case.teacher.small_logits[:, :1])
    assert_close(only_background.loss('unbiased_ce'), plain)


def agreeing(case: Case, name: str) -> Tensor:
    """Return student logits that say what the teacher's do.

    For MiB the new classes share the probability of background, as after the
    balanced initialization; elsewhere they do not matter.
    """
    old = case.teacher.small_logits.detach()
    new = case.student.small_logits.detach()[:, case.num_old :]
    if name == 'unbiased_kd':
        share = old[:, :1] - math.log(new.shape[1] + 1)
        old = torch.cat([share, old[:, 1:]], dim=1)
        new = share.expand_as(new)
    return torch.cat([old, new], dim=1).requires_grad_()


@pytest.mark.parametrize('name', PIXEL_DISTANCES)
@given(case=cases(scales=SCALES))
def test_distillation_is_least_where_both_agree(name, case):
    disagreeing = case.loss(name)
    case = case.but(student=agreeing(case, name))
    loss = case.loss(name)
    (gradient,) = case.gradients(loss)
    assert gradient.abs().max() < 1e-3
    assert loss <= disagreeing * (1 + 1e-4) + 1e-4


@pytest.mark.parametrize('name', ['one_vs_rest', 'sigmoid_kd'])
@given(case=cases(scales=SCALES), data=st.data())
def test_binary_losses_are_sums_over_classes(name, case, data):
    """Permuted classes give the same; nothing else links two classes."""
    order = torch.tensor(data.draw(st.permutations(range(case.num_old))))
    whole = torch.cat([order, torch.arange(case.num_old, case.num_seen)])
    table = torch.arange(IGNORE_INDEX + 1)
    table[order] = torch.arange(case.num_old)
    moved = case.but(
        student=case.student.small_logits[:, whole],
        teacher=case.teacher.small_logits[:, order],
        target=table[case.target],
    )
    assert_close(moved.loss(name), case.loss(name))
