"""What a label below O means where class 0 is no background."""

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from model_cases import network, trained_network

from mmseg_rbc.models.losses import pixel_cross_entropy, unbiased_cross_entropy
from mmseg_rbc.models.outputs import run_network

OLD, SEEN = 3, 4


@pytest.fixture
def make(tmp_path):
    """Return a grown network, images, and labels: new, unlabeled or void."""

    def build(background=False, **method):
        path = str(tmp_path / 'previous.pth')
        state = trained_network(OLD).state_dict()
        torch.save(dict(state_dict=state, meta={}), path)
        previous = dict(checkpoint=path, num_classes=OLD)
        config = network(SEEN, method=method, previous=previous)
        model = MODELS.build(dict(config, background=background))
        model.init_weights()
        inputs = torch.randn(2, 3, 32, 32)
        target = torch.randint(0, 2, (2, 32, 32)) * OLD
        target[:, :2] = 255
        return model, inputs, target

    torch.manual_seed(0)
    return build


def loss_ce(model, inputs, target):
    samples = [SegDataSample() for _ in target]
    for sample, labels in zip(samples, target):
        sample.gt_sem_seg = PixelData(data=labels[None])
    return model.loss(inputs, samples)['loss_ce']


def test_plain_criterion_ignores_it(make):
    for background in (False, True):
        model, inputs, target = make(background)
        known = target.where((target >= OLD) | background, 255)
        logits = run_network(model, inputs).logits
        expected = pixel_cross_entropy(logits, known)
        torch.testing.assert_close(loss_ce(model, inputs, target), expected)


def test_unbiased_criterion_takes_any_old_class(make):
    criterion = dict(type='UnbiasedCrossEntropy')
    model, inputs, target = make(criterion=criterion)
    logits = run_network(model, inputs).logits
    expected = unbiased_cross_entropy(logits, target, num_old=OLD)
    torch.testing.assert_close(loss_ce(model, inputs, target), expected)


def test_pseudo_labeler_answers_with_class_0_too(make):
    labeler = dict(type='EntropyPseudoLabeler', adaptive=False)
    model, inputs, target = make(pseudo_labeler=labeler)
    # Everything is accepted.
    model.pseudo_labeler.thresholds = torch.full((OLD,), torch.inf)
    with torch.no_grad():
        teacher = run_network(model.teacher, inputs)
    answers = target.where(target >= OLD, teacher.logits.argmax(1))
    assert (answers == 0).any() and (answers == 1).any()
    logits = run_network(model, inputs).logits
    expected = pixel_cross_entropy(logits, answers)
    torch.testing.assert_close(loss_ce(model, inputs, target), expected)


def test_parts_that_ask_for_background_are_refused(make):
    """Class 0 is a class like the others, and no new class was in it."""
    losses = dict(lgkd=dict(type='LabelGuidedDistillationLoss'))
    assert loss_ce(*make(True, losses=losses)) > 0
    with pytest.raises(ValueError, match='no background: leave it out'):
        loss_ce(*make(losses=losses))
    assert loss_ce(*make(True, classifier_init='attributed')) > 0
    with pytest.raises(ValueError, match='has none: choose "weighted"'):
        make(classifier_init='attributed')
