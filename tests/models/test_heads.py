"""Heads with several logits train as in MMSeg; others are refused."""

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.models.decode_heads import EncHead, FCNHead, PointHead
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from model_cases import network

from mmseg_rbc.models.heads import (
    all_heads,
    check_head_class,
    run_heads,
    stock_segmentor,
)

HEAD = dict(network(5)['decode_head'])
DANET = dict(HEAD, type='DAHead', pam_channels=2)
DANET.pop('num_convs')
OCR = dict(HEAD, type='OCRHead', ocr_channels=4)
OCR.pop('num_convs')


def both(**parts):
    """Return our segmentor and MMSeg's, with the same weights."""
    config = dict(network(5), **parts)
    kind = 'Cascade' * ('num_stages' in parts) + 'EncoderDecoder'
    stock = MODELS.build(dict(config, type=kind))
    ours = MODELS.build(dict(config, type=f'Incremental{kind}'))
    ours.load_state_dict(stock.state_dict())
    return ours, stock


def batch():
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 3, 32, 48, generator=g)
    labels = torch.randint(0, 5, (2, 1, 32, 48), generator=g)
    return inputs, [
        SegDataSample(gt_sem_seg=PixelData(data=x)) for x in labels
    ]


@pytest.mark.parametrize(
    'parts, names',
    [
        (
            dict(decode_head=DANET),
            {
                'loss_ce': 'decode.pam_cam.loss_ce',
                'decode_0.loss_ce': 'decode.pam.loss_ce',
                'decode_1.loss_ce': 'decode.cam.loss_ce',
            },
        ),
        (
            dict(
                num_stages=2,
                decode_head=[
                    dict(
                        HEAD,
                        loss_decode=dict(
                            type='CrossEntropyLoss', loss_weight=0.4
                        ),
                    ),
                    OCR,
                ],
                auxiliary_head=[dict(HEAD, in_channels=4, in_index=0)],
            ),
            {
                'loss_ce': 'decode_1.loss_ce',
                'decode_0.loss_ce': 'decode_0.loss_ce',
                'aux_0.loss_ce': 'aux_0.loss_ce',
            },
        ),
    ],
    ids=['branches', 'cascade'],
)
def test_losses_are_those_of_mmseg(parts, names):
    """In step 0, on every logits, with the weight of its head."""
    ours, stock = both(**parts)
    inputs, samples = batch()
    expected = stock.loss(inputs, samples)
    found = ours.loss(inputs, samples)
    assert set(found) == set(names)
    for name, of_stock in names.items():
        torch.testing.assert_close(found[name], expected[of_stock])


def test_the_embedding_is_what_the_last_classifier_sees():
    ours, _ = both(num_stages=2, decode_head=[HEAD, OCR])
    inputs, _ = batch()
    ours.eval()
    embedding, logits, others = run_heads(ours, ours.extract_feat(inputs))
    torch.testing.assert_close(ours.decode_head[1].conv_seg(embedding), logits)
    first = ours.decode_head[0](ours.extract_feat(inputs))
    torch.testing.assert_close(others, (first,))
    assert len(all_heads(ours)) == 2


def test_segmentor_of_mmseg():
    assert stock_segmentor(dict(num_stages=2)) == 'CascadeEncoderDecoder'
    assert stock_segmentor({}) == 'EncoderDecoder'


class OwnLoss(FCNHead):
    def loss_by_feat(self, seg_logits, batch_data_samples):
        return {}


@pytest.mark.parametrize(
    'cls, config, sentence',
    [
        (OwnLoss, {}, r'^OwnLoss has a loss of its own \(OwnLoss.loss_by_f'),
        (PointHead, {}, '^PointHead has no classifier that can grow: choose'),
        (EncHead, {}, '^EncHead with use_se_loss=True .*: set use_se_loss=F'),
        (torch.nn.Conv2d, {}, '^Conv2d has no classifier that can grow'),
    ],
)
def test_refused_before_it_is_built(cls, config, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_head_class(cls, config)
    check_head_class(FCNHead, {})
    check_head_class(EncHead, dict(use_se_loss=False))
