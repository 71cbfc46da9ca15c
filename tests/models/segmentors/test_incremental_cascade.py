"""A cascade of heads grows as a whole, and has a teacher that is one."""

import torch
from mmseg.models import CascadeEncoderDecoder
from mmseg.registry import MODELS
from model_cases import network

LOSSES = dict(pod=dict(type='LocalPODLoss'))


def cascade(num_classes: int, **more):
    config = network(num_classes, **more)
    head = config['decode_head']
    ocr = dict(head, type='OCRHead', ocr_channels=4)
    ocr.pop('num_convs')
    config.update(num_stages=2, decode_head=[head, ocr])
    return MODELS.build(dict(config, type='IncrementalCascadeEncoderDecoder'))


def test_both_classifiers_grow_and_the_teacher_predicts_as_before():
    torch.manual_seed(0)
    old = cascade(4).eval()
    new = cascade(
        6,
        method=dict(losses=LOSSES, classifier_init='balanced'),
        previous=dict(num_classes=4),
    )
    new.take_over(old.state_dict())
    for before, after in zip(old.decode_head, new.decode_head):
        grown = after.conv_seg.weight
        assert torch.equal(grown[:4], before.conv_seg.weight)
        assert torch.equal(grown[5], before.conv_seg.weight[0])
    assert type(new.teacher) is CascadeEncoderDecoder
    picture = torch.randn(1, 3, 32, 48)
    with torch.no_grad():
        torch.testing.assert_close(
            new.teacher(picture, mode='tensor'),
            old(picture, mode='tensor'),
            rtol=1e-3,
            atol=1e-4,
        )
