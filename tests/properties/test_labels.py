"""What pseudo-labels, balance weight and erasing may change, and what not."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from mmseg.registry import MODELS, TRANSFORMS
from strategies import SEEDS, SIDES, Case, cases, generator
from torch import Tensor

from mmseg_rbc.datasets.transforms.erase import FILLS
from mmseg_rbc.models.losses import balance_weight
from mmseg_rbc.models.pseudo_labelers.entropy import normalized_entropy
from mmseg_rbc.tasks import IGNORE_INDEX

LABELERS = ('EntropyPseudoLabeler', 'ConfidencePseudoLabeler')
THRESHOLDS = (0.0, 0.001, 0.01, 0.1, math.inf)


def pseudo_labels(
    name: str, case: Case, data: st.DataObject, adaptive: bool = True
) -> tuple[Tensor, Tensor]:
    labeler = MODELS.build(dict(type=name, adaptive=adaptive))
    if name == 'EntropyPseudoLabeler':
        values = [data.draw(st.sampled_from(THRESHOLDS)) for _ in range(4)]
        labeler.thresholds = torch.tensor(values)[: case.num_old]
    return labeler(case.teacher, case.target, case.num_seen)


@pytest.mark.parametrize('name', ['NaivePseudoLabeler', *LABELERS])
@given(case=cases(), data=st.data())
def test_only_background_is_labeled_and_only_old(name, case, data):
    before = case.target.clone()
    refined, beta = pseudo_labels(name, case, data)
    assert torch.equal(case.target, before), 'not in place'
    background = before < case.num_old
    assert torch.equal(refined[~background], before[~background])
    accepted = background & (refined != IGNORE_INDEX)
    classes = case.teacher.logits.argmax(1)
    assert torch.equal(refined[accepted], classes[accepted])
    assert (refined[accepted] < case.num_old).all()
    for i in range(len(before)):
        share = int(accepted[i].sum()) / max(int(background[i].sum()), 1)
        assert beta[i].item() == pytest.approx(share) and 0 <= beta[i] <= 1
    if name == 'NaivePseudoLabeler':
        assert torch.equal(accepted, background)


@pytest.mark.parametrize('name', LABELERS)
@given(case=cases(), data=st.data())
def test_without_adaptation_all_images_count_alike(name, case, data):
    _, beta = pseudo_labels(name, case, data, adaptive=False)
    assert (beta == 1).all()


@given(case=cases(), low=st.sampled_from(THRESHOLDS), data=st.data())
def test_a_higher_threshold_accepts_no_less(case, low, data):
    high = data.draw(st.sampled_from([t for t in THRESHOLDS if t >= low]))
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    found = []
    for threshold in (low, high):
        labeler.thresholds = torch.full((case.num_old,), threshold)
        found.append(labeler(case.teacher, case.target, case.num_seen))
    (few, less), (many, more) = found
    labeled = few != IGNORE_INDEX
    assert torch.equal(few[labeled], many[labeled]) and (less <= more).all()
    if low == 0:
        assert not less.any(), 'no entropy is below 0'
    if high == math.inf:
        background = case.target < case.num_old
        assert (many[background] != IGNORE_INDEX).all()


@given(case=cases())
def test_accepted_is_what_is_below_the_threshold(case):
    """A threshold that is the entropy of a pixel does not accept it."""
    logits = case.teacher.logits.detach().movedim(1, 0)
    entropy = normalized_entropy(logits, case.num_seen)
    threshold = entropy.median()
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    labeler.thresholds = threshold.repeat(case.num_old)
    background = torch.zeros_like(case.target)
    refined, _ = labeler(case.teacher, background, case.num_seen)
    assert torch.equal(refined != IGNORE_INDEX, entropy < threshold)


@given(case=cases(), seed=SEEDS)
def test_entropy_of_plop(case, seed):
    """At most 1 / (O ln K), at equal logits; classes are alike."""
    logits = case.teacher.small_logits.detach().movedim(1, 0)
    entropy = normalized_entropy(logits, case.num_seen)
    largest = 1 / (case.num_old * math.log(case.num_seen))
    assert (entropy >= 0).all() and (entropy <= largest * (1 + 1e-5)).all()
    equal = normalized_entropy(0 * logits, case.num_seen)
    torch.testing.assert_close(equal, torch.full_like(entropy, largest))
    order = torch.randperm(case.num_old, generator=generator(seed))
    moved = normalized_entropy(logits[order], case.num_seen)
    torch.testing.assert_close(moved, entropy, rtol=1e-4, atol=1e-6)


@given(case=cases())
def test_balance_weight_pixel_by_pixel(case):
    weight = balance_weight(case.target, case.num_old)
    for labels, found in zip(case.target.tolist(), weight):
        flat = [y for row in labels for y in row]
        n_old = sum(0 < y < case.num_old for y in flat)
        n_new = sum(case.num_old <= y < IGNORE_INDEX for y in flat) or 1
        eta = 0.5 + 1 / (1 + math.exp(-n_old / n_new))
        expected = [eta if 0 < y < case.num_old else 1.0 for y in flat]
        assert found.flatten().tolist() == pytest.approx(expected)
    assert weight.min() >= 1 and weight.max() <= 1.5


@st.composite
def erasures(draw: st.DrawFn) -> dict:
    """Draw an image of non-zero colors and labels of a step."""
    size = (draw(SIDES), draw(SIDES))
    labels = st.sampled_from([0, 1, 2, 3, 4, 5, 254, 255])
    colors = st.integers(1, 255)
    return dict(
        img=draw(st_numpy.arrays(np.uint8, (*size, 3), elements=colors)),
        gt_seg_map=draw(st_numpy.arrays(np.uint8, size, elements=labels)),
        num_old=draw(st.integers(2, 5)),
    )


@pytest.mark.parametrize('fill', FILLS)
@pytest.mark.parametrize('erase_void', [False, True])
@given(results=erasures())
def test_erasing_keeps_exactly_the_kept_pixels(fill, erase_void, results):
    image, labels = results['img'].copy(), results['gt_seg_map'].copy()
    num_old = results['num_old']
    erase = TRANSFORMS.build(
        dict(type='NewClassErase', fill=fill, erase_void=erase_void)
    )
    found = erase(results)
    kept = (labels < num_old) | ((labels == 255) & (not erase_void))
    np.testing.assert_array_equal(found['img_erased'][kept], image[kept])
    if fill == 'black':
        assert not found['img_erased'][~kept].any()
    assert found['img_erased'].shape == image.shape
    assert found['img_erased'].dtype == np.uint8
    expected = np.where(labels < num_old, labels, 255)
    np.testing.assert_array_equal(found['gt_erased_map'], expected)
    np.testing.assert_array_equal(found['img'], image)
    np.testing.assert_array_equal(found['gt_seg_map'], labels)
