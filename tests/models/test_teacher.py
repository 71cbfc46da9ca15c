"""The frozen network of the previous step."""

import copy

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import network, trained_network
from torch import nn

from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.models.teacher import build_teacher, hide_module

OLD = 3


def parts(cfg: dict) -> dict:
    return {key: cfg[key] for key in ('backbone', 'decode_head')}


def images(count: int = 3) -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.randn(count, 3, 32, 32, generator=g)


@pytest.mark.parametrize('fuse', [True, False])
def test_teacher_is_the_old_network_in_eval_mode(fuse):
    """The student's config asks for more classes and auxiliary heads."""
    old = trained_network(OLD, aux=True)
    cfg = parts(network(OLD + 2, aux=True))
    untouched = copy.deepcopy(cfg)
    teacher = build_teacher(cfg, old.state_dict(), OLD, fuse)
    assert cfg == untouched
    assert not any(module.training for module in teacher.modules())
    assert not any(p.requires_grad for p in teacher.parameters())
    assert not teacher.with_auxiliary_head
    with torch.no_grad():
        expected = old.eval()(images(), mode='tensor')
    found = teacher(images(), mode='tensor')
    assert found.shape[1] == OLD
    # Merged norms round otherwise.
    tolerance = 1e-4 if fuse else 1e-5
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def test_fused_teacher_equals_the_plain_one():
    state = trained_network(OLD).state_dict()
    cfg = parts(network(OLD))
    plain = build_teacher(cfg, state, OLD, fuse=False)
    fused = build_teacher(cfg, state, OLD, fuse=True)
    norms = [m for m in fused.modules() if isinstance(m, nn.BatchNorm2d)]
    assert not norms
    a, b = run_network(plain, images()), run_network(fused, images())
    for x, y in zip((*a.feats, a.logits), (*b.feats, b.logits)):
        assert (x - y).abs().max() <= 1e-5 * x.abs().max()


@MODELS.register_module()
class NormFirst(nn.Module):
    """Lists the norm after the convolution that it runs before."""

    def __init__(self, only_even: bool = False) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 1)
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.only_even = only_even

    def forward(self, x):
        if self.only_even and x.shape[-1] % 2:
            raise RuntimeError('a width that is odd')
        return (self.conv(self.norm(self.stem(x))),)


@pytest.mark.parametrize('only_even', [False, True])
def test_teacher_that_cannot_be_fused_stays_right(only_even):
    """Fusing would change its output, or cannot be tried out."""
    cfg = network(OLD)
    cfg['backbone'] = dict(type='NormFirst', only_even=only_even)
    cfg['decode_head']['in_index'] = 0
    old = MODELS.build(cfg).eval()
    old.backbone.norm.running_mean.uniform_(2, 3)
    teacher = build_teacher(parts(cfg), old.state_dict(), OLD)
    assert isinstance(teacher.backbone.norm, nn.BatchNorm2d)
    with torch.no_grad():
        expected = old(images(), mode='tensor')
    assert torch.equal(teacher(images(), mode='tensor'), expected)


def test_hidden_module():
    owner, hidden = nn.Linear(2, 2), nn.Dropout()
    hide_module(owner, 'teacher', hidden)
    assert owner.teacher is hidden
    assert [name for name, _ in owner.named_modules()] == ['']
    hidden.eval()
    owner.train()
    assert not hidden.training
    hide_module(owner, 'teacher', None)
    assert owner.teacher is None
