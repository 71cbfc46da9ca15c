import math

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import teacher_outputs


def test_naive_and_confident_labels():
    logits = torch.zeros(1, 2, 1, 3)
    logits[0, 1, 0] = torch.tensor([math.log(9), math.log(8), -5])
    target = torch.tensor([[[0, 0, 5]]])
    naive = MODELS.build(dict(type='NaivePseudoLabeler'))
    refined, beta = naive(teacher_outputs(logits), target, 6)
    assert refined.tolist() == [[[1, 1, 5]]] and beta.tolist() == [1]
    sure = MODELS.build(
        dict(type='ConfidencePseudoLabeler', confidence=0.899, adaptive=True)
    )
    refined, beta = sure(teacher_outputs(logits), target, 6)
    assert refined.tolist() == [[[1, 255, 5]]] and beta.tolist() == [0.5]
    with pytest.raises(ValueError, match='confidence=2 is not in'):
        MODELS.build(dict(type='ConfidencePseudoLabeler', confidence=2))
