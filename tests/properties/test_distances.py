"""What holds for distances: of features, local POD and consistency."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    CONSISTENCIES,
    FEATURE_DISTANCES,
    SEEDS,
    Case,
    cases,
    generator,
    value_maps,
)
from torch import Tensor

from mmseg_rbc.models.losses import local_pod_distance

SCALES = (1.0, 0.0, 50.0)
FACTORS = st.sampled_from([0.01, 0.5, 3.0, 100.0])


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@st.composite
def feature_pairs(draw: st.DrawFn, multiple: int = 1) -> tuple[Tensor, Tensor]:
    """Draw two maps whose sides are multiples of a number."""
    height, width = (multiple * draw(st.integers(1, 5)) for _ in range(2))
    shape = (draw(st.integers(1, 3)), 2, height, width)
    return draw(value_maps(shape, SCALES)), draw(value_maps(shape, SCALES))


def agreeing(case: Case) -> Case:
    """Give student and teacher the same outputs, in both views alike."""
    if case.teacher.num_views == 2:
        case = case.changed(lambda x: torch.cat([x.chunk(2)[0]] * 2))
    teacher = case.teacher
    student = replace(
        teacher,
        feats=tuple(x.detach().requires_grad_() for x in teacher.feats),
        embedding=teacher.embedding.detach().requires_grad_(),
    )
    # New logits of 0 add nothing to the folded background.
    count = case.num_seen - case.num_old
    logits = teacher.small_logits.detach()
    new = torch.zeros_like(logits[:, :1]).repeat(1, count, 1, 1)
    student.small_logits = torch.cat([logits, new], 1).requires_grad_()
    return Case(student, teacher, case.target)


@pytest.mark.parametrize('name', [*FEATURE_DISTANCES, *CONSISTENCIES])
@given(data=st.data())
def test_distance_to_itself_is_0_with_gradient_0(name, data):
    num_views = 2 if name in CONSISTENCIES else 1
    case = agreeing(data.draw(cases(num_views)))
    loss = case.loss(name)
    gradients = case.gradients(loss)
    assert loss == 0 and gradients
    assert not any(gradient.any() for gradient in gradients)


@pytest.mark.parametrize('name', FEATURE_DISTANCES)
@given(case=cases(scales=SCALES), seed=SEEDS)
def test_distance_of_a_batch_is_the_mean_over_images(name, case, seed):
    alone = [
        case.changed(lambda x, i=i: x[i : i + 1]).loss(name)
        for i in range(len(case.target))
    ]
    assert_close(case.loss(name), torch.stack(alone).mean())
    order = torch.randperm(len(alone), generator=generator(seed))
    assert_close(case.changed(lambda x: x[order]).loss(name), case.loss(name))


@given(pair=feature_pairs(), factor=FACTORS)
def test_pod_and_the_scale_of_features(pair, factor):
    """Squared, then a norm: quadratic; relative to the teacher: no change."""
    scaled = [factor * x for x in pair]
    plain = local_pod_distance(*pair)
    assert_close(local_pod_distance(*scaled), factor**2 * plain)
    relative = local_pod_distance(*pair, relative=True)
    assert_close(local_pod_distance(*scaled, relative=True), relative)


@given(pair=feature_pairs())
def test_pod_is_symmetric_and_knows_no_signs_or_axes(pair):
    student, teacher = pair
    expected = local_pod_distance(student, teacher)
    assert_close(local_pod_distance(teacher, student), expected)
    assert_close(local_pod_distance(-student, teacher), expected)
    turned = local_pod_distance(student.mT, teacher.mT)
    assert_close(turned, expected)


@given(pair=feature_pairs(multiple=4), side=st.sampled_from([-1, -2]))
def test_pod_of_flipped_maps(pair, side):
    """Only where 4 divides the sides: else other rows are the remainder."""
    flipped = [x.flip(side) for x in pair]
    assert_close(local_pod_distance(*flipped), local_pod_distance(*pair))


def old_pixels(case: Case) -> Tensor:
    return (case.target > 0) & (case.target < case.num_old)


@pytest.mark.parametrize('name', CONSISTENCIES)
@given(case=cases(2, strides=(1,)))
def test_consistency_touches_old_pixels_only(name, case):
    (gradient,) = case.gradients(case.loss(name))
    assert not gradient.movedim(1, -1)[~old_pixels(case)].any()
    first = 1 if name == 'student' else 0
    assert not gradient[:, :first].any()
    assert not gradient[:, case.num_old :].any()
    case = case.but(target=case.target.where(~old_pixels(case), 0))
    assert case.loss(name) == 0


@pytest.mark.parametrize('name', CONSISTENCIES)
@given(case=cases(2, SCALES), factor=FACTORS, side=st.sampled_from([-1, -2]))
def test_consistency_is_a_mean_of_squares(name, case, factor, side):
    """Over the pixels of all images: repeating the batch changes nothing."""
    expected = case.loss(name)
    repeated = case.changed(lambda x: x.repeat_interleave(2, 0))
    assert_close(repeated.loss(name), expected)
    assert_close(case.changed(lambda x: x.flip(side)).loss(name), expected)
    scaled = case.changed(lambda x: factor * x if x.dim() == 4 else x)
    assert_close(scaled.loss(name), factor**2 * expected)
