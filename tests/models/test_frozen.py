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
from torch.utils._python_dispatch import TorchDispatchMode

from mmseg_rbc.models.frozen import freeze, is_inside, share_frozen
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


class Convolutions(TorchDispatchMode):
    """Collect the names of the layers that run."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.names = {
            parameter.data_ptr(): f'{who}.{name.removesuffix(".weight")}'
            for who, net in (('student', model), ('teacher', model.teacher))
            for name, parameter in net.named_parameters()
        }

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.convolution.default:
            self.ran.append(self.names[args[1].data_ptr()])
        return function(*args, **(kwargs or {}))


def losses(model: nn.Module, factor: float) -> dict[str, torch.Tensor]:
    inputs, samples = batch()
    return model.loss(factor * inputs, samples)


@pytest.mark.parametrize(
    'frozen, shared',
    [
        (['backbone'], ['backbone']),
        # All but the last stage.
        (
            ['backbone.conv1', 'backbone.bn1', 'backbone.layer1'],
            ['backbone.conv1', 'backbone.layer1'],
        ),
        # Behind what learns the inputs differ.
        (['backbone.bn1', 'backbone.layer1'], []),
    ],
)
def test_frozen_parts_run_once(build, frozen, shared):
    """For student and teacher, and nothing else changes."""
    model, twice = build(frozen=frozen), build(frozen=frozen)
    for module in twice.modules():
        module._forward_hooks.clear()
    with torch.no_grad():
        for net in (model, twice):
            for parameter in net.parameters():
                if parameter.requires_grad:
                    parameter.mul_(1.1)
    layers = [
        name
        for name, module in model.teacher.named_modules()
        if isinstance(module, nn.Conv2d)
    ]
    # What is known of one batch is not taken for that of another.
    for factor in (1.0, 2.0):
        with Convolutions(model) as found:
            once = losses(model, factor)
        assert sorted(found.ran) == sorted(
            [f'student.{name}' for name in layers]
            + [f'teacher.{n}' for n in layers if not is_inside(n, shared)]
        )
        with Convolutions(twice) as found:
            slow = losses(twice, factor)
        assert len(found.ran) == 2 * len(layers)
        assert once.keys() == slow.keys() and once['loss_pod'] > 0
        for name, value in slow.items():
            assert torch.equal(once[name], value)
        sum(once.values()).backward()
        sum(slow.values()).backward()
    for a, b in zip(model.parameters(), twice.parameters()):
        assert (a.grad is None) == (b.grad is None)
        assert a.grad is None or torch.equal(a.grad, b.grad)


def test_a_copy_shares_with_its_own_teacher(build):
    """Copied between two batches, as EMA does, or after a student ran."""
    model = build(frozen=['backbone'])
    run_network(model, batch()[0])
    copied = copy.deepcopy(model)
    with Convolutions(model) as found:
        run_network(model.teacher, 2 * batch()[0])
    assert 'teacher.backbone.conv1' in found.ran, 'not of these images'
    expected = losses(model, 1.0)
    with torch.no_grad():
        model.backbone.conv1.weight.zero_()
    assert losses(model, 1.0)['loss_ce'] != expected['loss_ce']
    with Convolutions(copied) as found:
        torch.testing.assert_close(losses(copied, 1.0), expected)
    assert 'teacher.backbone.conv1' not in found.ran


def test_outputs_changed_in_place_are_not_shared():
    """The norm of a stem is followed by a ReLU in place."""

    def block() -> nn.Module:
        torch.manual_seed(0)
        norm = nn.BatchNorm2d(3).eval()
        return nn.Sequential(norm, nn.LeakyReLU(0.5, inplace=True))

    student, teacher = block(), block()
    share_frozen(student, teacher, ['0'])
    x = torch.randn(2, 3, 4, 4)
    found = student(x)
    expected = found.clone()
    with torch.no_grad():
        assert torch.equal(teacher(x), expected)
    assert torch.equal(found, expected), 'nor changed once more'


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
