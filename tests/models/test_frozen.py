"""Frozen parts: which they are, and that nothing moves them."""

import copy

import pytest
import torch
from mmengine.optim import build_optim_wrapper
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from model_cases import OLD, SEEN, network, trained_network
from torch import nn

from mmseg_rbc.models.frozen import freeze, is_inside
from mmseg_rbc.models.outputs import run_network

METHOD = dict(
    criterion=dict(type='PixelCrossEntropy'),
    losses=dict(pod=dict(type='LocalPODLoss')),
)
WRAPPER = dict(
    type='OptimWrapper',
    optimizer=dict(type='SGD', lr=0.1, momentum=0.9, weight_decay=0.1),
)


@pytest.fixture
def build(tmp_path):
    """Return a student of step 1 with frozen parts."""
    path = tmp_path / 'final.pth'
    state = trained_network(OLD).state_dict()
    torch.save(dict(state_dict=state, meta={}), path)

    def student(**kwargs) -> nn.Module:
        previous = dict(checkpoint=str(path), num_classes=OLD)
        cfg = network(SEEN, method=METHOD, previous=previous, **kwargs)
        torch.manual_seed(0)
        model = MODELS.build(cfg)
        model.init_weights()
        return model.train()

    return student


def batch() -> tuple[torch.Tensor, list[SegDataSample]]:
    g = torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 3, 32, 32, generator=g)
    target = torch.randint(0, SEEN, (2, 1, 32, 32), generator=g)
    samples = [
        SegDataSample(gt_sem_seg=PixelData(data=label)) for label in target
    ]
    return inputs, samples


def test_is_inside():
    assert is_inside('backbone.layer1.0.weight', ['neck', 'backbone.layer1'])
    assert is_inside('backbone', ['backbone'])
    assert not is_inside('backbone.layer10.weight', ['backbone.layer1'])
    assert not is_inside('backbone.layer1', [])


@pytest.mark.parametrize(
    'frozen', [['backbone'], ['backbone.layer1', 'decode_head.convs']]
)
def test_frozen_parts_do_not_move(build, frozen):
    """Neither by the gradient, nor by weight decay, nor by statistics."""
    model = build(frozen=frozen)
    before = copy.deepcopy(model.state_dict())
    optim = build_optim_wrapper(model, copy.deepcopy(WRAPPER))
    for _ in range(2):
        optim.update_params(sum(model.loss(*batch()).values()))
    moved = {
        name
        for name, value in model.state_dict().items()
        if not torch.equal(value, before[name])
    }
    assert not [name for name in moved if is_inside(name, frozen)]
    for name, parameter in model.named_parameters():
        assert (name in moved) == (not is_inside(name, frozen)), name
        assert (parameter in optim.optimizer.state) == (name in moved)
    assert 'decode_head.conv_seg.weight' in moved


def test_a_frozen_backbone_runs_once(build):
    """With the losses of two backbones."""
    model = build(frozen=['backbone'], fuse_teacher=False)
    calls: list[str] = []
    for name, net in (('student', model), ('teacher', model.teacher)):
        net.backbone.register_forward_pre_hook(
            lambda *_, name=name: calls.append(name)
        )
    with torch.no_grad():
        model.decode_head.convs[0].conv.weight.mul_(1.1)
    found = model.loss(*batch())
    assert calls == ['student']
    model.frozen = ()
    expected = model.loss(*batch())
    assert calls == ['student', 'student', 'teacher']
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)
    assert found['loss_pod'] > 0
    with torch.no_grad():
        feats = run_network(model, batch()[0]).feats
    assert not any(f.requires_grad for f in feats)


def test_step_0_learns_everything():
    model = MODELS.build(network(OLD, frozen=['backbone'])).train()
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert model.backbone.training


def test_wrong_names():
    model = trained_network(OLD)
    with pytest.raises(ValueError, match="'bacbone'.*did you mean 'backbone'"):
        freeze(model, ['bacbone'])
    for part in ('decode_head', 'decode_head.conv_seg'):
        with pytest.raises(ValueError, match='new rows must learn'):
            freeze(model, [part])
