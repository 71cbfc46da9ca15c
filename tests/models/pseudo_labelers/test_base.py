"""What all pseudo-labelers share, with one that accepts what it is told."""

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import teacher_outputs

from mmseg_rbc.models.pseudo_labelers.base import (
    BasePseudoLabeler,
    first_largest,
)


class Told(BasePseudoLabeler):
    """Accept the pixels whose largest logit is above num_seen."""

    def accept(self, logits, classes, num_seen):
        assert torch.equal(logits.argmax(0), classes)
        return logits.amax(0) > num_seen


def test_background_becomes_the_teachers_class_or_void():
    """O = 2, K = 4; labels 0 and 1 are background, 2 and 3 new."""
    logits = torch.zeros(2, 2, 1, 4)
    logits[0, 1] = torch.tensor([9.0, 3.0, 9.0, 9.0])
    logits[1, 0] = 9
    target = torch.tensor([[[0, 0, 2, 255]], [[1, 0, 3, 0]]])
    for adaptive, expected in ((True, [0.5, 1]), (False, [1, 1])):
        refined, beta = Told(adaptive)(teacher_outputs(logits), target, 4)
        assert refined.tolist() == [[[1, 255, 2, 255]], [[0, 0, 3, 0]]]
        assert beta.tolist() == expected
    assert target[0, 0, 0] == 0, 'not in place'


def test_only_full_views_are_labeled():
    """The teacher also saw the erased views: the second half."""
    logits = torch.zeros(2, 2, 1, 1)
    logits[0, 1], logits[1, 0] = 9, 9
    refined, beta = Told(True)(
        teacher_outputs(logits), torch.zeros(1, 1, 1, dtype=torch.long), 4
    )
    assert refined.tolist() == [[[1]]] and beta.tolist() == [1]


def test_image_without_background_has_beta_0():
    logits = torch.zeros(2, 2, 1, 2)
    target = torch.tensor([[[2, 255]], [[0, 2]]])
    labeler = MODELS.build(dict(type='EntropyPseudoLabeler'))
    labeler.thresholds = torch.tensor([9.0, 9.0])
    assert labeler(teacher_outputs(logits), target, 3)[1].tolist() == [0, 1]
    labeler.adaptive = False
    assert labeler(teacher_outputs(logits), target, 3)[1].tolist() == [1, 1]


def test_accept_must_be_written():
    with pytest.raises(TypeError, match='abstract'):
        BasePseudoLabeler(adaptive=True)


def test_first_largest_is_argmax():
    """Also with ties, where the first wins, and with NaN: a valid class."""
    g = torch.Generator().manual_seed(0)
    for count in (1, 2, 21, 255):
        logits = torch.randint(0, 4, (count, 5, 7), generator=g).float()
        assert torch.equal(first_largest(logits), logits.argmax(0))
    logits[3, 0, 0] = float('nan')
    assert 0 <= first_largest(logits)[0, 0] < 255
