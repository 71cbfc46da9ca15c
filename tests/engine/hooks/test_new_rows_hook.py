"""New rows move farther by the factor, and nothing else does."""

import copy

import pytest
import torch
from mmengine.registry import HOOKS
from torch import nn


class Owner:
    """What the hook asks of a Runner."""

    def __init__(self, model: nn.Module, optimizer) -> None:
        self.model = model
        self.optim_wrapper = type('Wrapper', (), dict(optimizer=optimizer))()


class Network(nn.Module):
    def __init__(self, num_old: int) -> None:
        super().__init__()
        self.num_old = num_old
        self.backbone = nn.Conv2d(2, 3, 1)
        self.conv_seg = nn.Conv2d(3, 5, 1)

    def forward(self, x):
        return self.conv_seg(self.backbone(x))


def train(model: nn.Module, optimizer) -> None:
    for i in range(4):
        x = torch.randn(2, 2, 3, 3, generator=torch.Generator().manual_seed(i))
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def sgd(parameters):
    return torch.optim.SGD(
        parameters, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1
    )


def test_one_step_of_the_new_rows_is_five_times_as_long():
    torch.manual_seed(0)
    plain = Network(3)
    start = copy.deepcopy(plain.state_dict())
    fast = copy.deepcopy(plain)
    hook = HOOKS.build(dict(type='NewRowsHook', factor=5.0))
    optimizers = [sgd(plain.parameters()), sgd(fast.parameters())]
    hook.before_train(Owner(fast, optimizers[1]))
    x = torch.randn(2, 2, 3, 3)
    for model, optimizer in zip((plain, fast), optimizers):
        model(x).square().mean().backward()
        optimizer.step()
    for name, before in start.items():
        a = plain.state_dict()[name] - before
        b = fast.state_dict()[name] - before
        if 'conv_seg' in name:
            torch.testing.assert_close(b[3:], 5 * a[3:])
            a, b = a[:3], b[:3]
        assert torch.equal(a, b), name


def test_it_is_a_learning_rate_of_rows():
    """Several steps equal those of a network whose rows have groups."""
    torch.manual_seed(0)
    fast = Network(3)
    rows = nn.ModuleList([nn.Conv2d(3, 3, 1), nn.Conv2d(3, 2, 1)])
    backbone = copy.deepcopy(fast.backbone)
    for part, (low, high) in zip(rows, ((0, 3), (3, 5))):
        part.weight.data.copy_(fast.conv_seg.weight.data[low:high])
        part.bias.data.copy_(fast.conv_seg.bias.data[low:high])
    split = nn.Sequential(backbone, Parallel(rows))
    optimizer = sgd(
        [
            dict(params=[*backbone.parameters(), *rows[0].parameters()]),
            dict(params=rows[1].parameters(), lr=0.03),
        ]
    )
    hook = HOOKS.build(dict(type='NewRowsHook', factor=3.0))
    fast_optimizer = sgd(fast.parameters())
    hook.before_train(Owner(fast, fast_optimizer))
    train(split, optimizer)
    train(fast, fast_optimizer)
    torch.testing.assert_close(fast.conv_seg.weight[:3], rows[0].weight)
    torch.testing.assert_close(fast.conv_seg.weight[3:], rows[1].weight)
    torch.testing.assert_close(fast.conv_seg.bias[3:], rows[1].bias)


class Parallel(nn.Module):
    def __init__(self, parts: nn.ModuleList) -> None:
        super().__init__()
        self.parts = parts

    def forward(self, x):
        return torch.cat([part(x) for part in self.parts], dim=1)


def test_nothing_in_step_0_and_after_training():
    torch.manual_seed(0)
    plain = Network(0)
    base = copy.deepcopy(plain)
    hook = HOOKS.build(dict(type='NewRowsHook', factor=5.0))
    optimizers = [sgd(plain.parameters()), sgd(base.parameters())]
    owner = Owner(base, optimizers[1])
    hook.before_train(owner)
    train(plain, optimizers[0])
    train(base, optimizers[1])
    assert torch.equal(plain.conv_seg.weight, base.conv_seg.weight)
    hook.after_train(owner)
    base.num_old = 3
    hook.before_train(owner)
    hook.after_train(owner)
    train(plain, optimizers[0])
    train(base, optimizers[1])
    assert torch.equal(plain.conv_seg.weight, base.conv_seg.weight)


def test_factor_must_be_positive():
    with pytest.raises(ValueError, match='factor of new rows is 0'):
        HOOKS.build(dict(type='NewRowsHook', factor=0))
