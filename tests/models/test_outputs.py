"""What a forward pass leaves, on a network of a few weights."""

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import network, trained_network
from torch import nn

from mmseg_rbc.models.outputs import Outputs, run_network


def test_logits_are_resized_as_the_head_does():
    """Two pixels, 0 and 1, become four."""
    small = torch.tensor([0.0, 1.0]).reshape(1, 1, 1, 2)
    outputs = Outputs((), (), small, small, (1, 4))
    assert outputs.logits.flatten().tolist() == [0, 0.25, 0.75, 1]
    aligned = Outputs((), (), small, small, (1, 4), align_corners=True)
    expected = torch.tensor([0, 1 / 3, 2 / 3, 1])
    torch.testing.assert_close(aligned.logits.flatten(), expected)


def test_logits_of_one_image_in_float32():
    g = torch.Generator().manual_seed(0)
    small = torch.randn(3, 2, 4, 5, generator=g).half()
    outputs = Outputs((), (), small, small, (8, 10))
    for i in range(3):
        found = outputs.image_logits(i)
        assert found.dtype == torch.float32
        expected = outputs.resize(small.float())[i]
        assert torch.equal(found, expected)


def test_run_network_keeps_what_the_losses_need():
    model = trained_network(3).eval()
    images = torch.randn(2, 3, 32, 48)
    outputs = run_network(model, images, num_views=2)
    expected = model.backbone(images)
    assert len(outputs.feats) == len(outputs.head_inputs) == 2
    for a, b in zip(outputs.feats, expected):
        assert torch.equal(a, b)
    logits = model.decode_head.conv_seg(outputs.embedding)
    assert torch.equal(outputs.small_logits, logits)
    assert torch.equal(outputs.small_logits, model.decode_head(expected))
    assert outputs.size == (32, 48) and outputs.num_views == 2
    assert not model.decode_head.conv_seg._forward_pre_hooks


@MODELS.register_module()
class Halving(nn.Module):
    """A neck that returns half of each map."""

    def forward(self, feats):
        return tuple(feat / 2 for feat in feats)


def test_heads_see_the_neck_and_losses_the_backbone():
    model = MODELS.build(network(3, neck=dict(type='Halving'))).eval()
    outputs = run_network(model, torch.randn(1, 3, 32, 32))
    for feat, halved in zip(outputs.feats, outputs.head_inputs):
        assert torch.equal(halved, feat / 2)
    expected = model.decode_head(outputs.head_inputs)
    assert torch.equal(outputs.small_logits, expected)


@pytest.mark.parametrize('how', ['not at all', 'in a list'])
def test_head_that_does_not_classify_once(how):
    model = MODELS.build(network(3))
    head = model.decode_head
    forward = head.forward
    head.forward = (
        (lambda feats: feats[-1])
        if how == 'not at all'
        else (lambda feats: [forward(feats)])
    )
    with pytest.raises(ValueError, match='FCNHead did not classify through'):
        run_network(model, torch.randn(1, 3, 32, 32))
    assert not head.conv_seg._forward_pre_hooks
