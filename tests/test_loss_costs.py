"""What the losses of all methods cost: memory, and waiting for the device."""

import sys

import pytest
import torch
from helpers import REPO
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from model_cases import OLD, SEEN, network, trained_network
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(REPO / 'benchmarks'))
from cases import (  # noqa: E402
    METHODS,
    make_target,
    method_config,
    number_of_views,
)
from losses import CLASSES, Case  # noqa: E402

sys.path.pop(0)
# Joint has one step; fusion, memory and warm starts are none of their cost.
NAMES = sorted(
    path.stem
    for path in METHODS.glob('*.py')
    if path.stem != 'joint'
    and not path.stem.endswith(('-ewf', '-ewf_ade', '-awt', '-m'))
)
INDEXING = {'index', 'index_put', 'index_put_'}
# Operators whose result, or its size, the host has to wait for.
WAITING = {
    '_local_scalar_dense',
    '_unique2',
    'bincount',
    'equal',
    'masked_select',
    'nonzero',
    'unique_dim',
}


@pytest.mark.parametrize('classes', CLASSES, ids=str)
@pytest.mark.parametrize('name', NAMES)
def test_memory_is_half_of_the_logits(name, classes):
    """Of 8 images, or 4 duplets; before, RBC took 5 and MiB 8 times it."""
    case = Case(name, *classes, images=8, size=128)
    assert 0.05 < case.peak('all') <= 0.5


class NoWaiting(TorchDispatchMode):
    """Raise where a GPU would be waited for."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        indices = args[1] if name in INDEXING else ()
        masks = [i for i in indices if i is not None and i.dtype == torch.bool]
        if name in WAITING or masks:
            raise AssertionError(f'{name} waits for the device')
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    'wait',
    [
        lambda x: x.sum().item(),
        lambda x: bool(x.sum() > 0),
        lambda x: x[x > 0],
        lambda x: x[:, x[0] > 0],
        lambda x: x.masked_select(x > 0),
        lambda x: x.nonzero(),
        lambda x: torch.where(x > 0),
    ],
)
def test_waiting_is_found(wait):
    x = torch.ones(2, 3)
    with NoWaiting(), pytest.raises(AssertionError, match='waits for'):
        wait(x)


@pytest.mark.parametrize(
    ('name', 'relative'), [*((name, False) for name in NAMES), ('rbc', True)]
)
def test_no_loss_waits_for_the_device(name, relative, tmp_path):
    method = method_config(name)
    if relative:
        method.losses.pod.relative = True
    path = str(tmp_path / 'previous.pth')
    state = trained_network(OLD, aux=True).state_dict()
    torch.save(dict(state_dict=state, meta={}), path)
    previous = dict(checkpoint=path, num_classes=OLD)
    model = MODELS.build(
        network(SEEN, aux=True, method=method, previous=previous)
    )
    model.init_weights()
    if model.pseudo_labeler is not None:
        model.pseudo_labeler.thresholds = torch.full((OLD,), 0.1)
    samples = []
    views = number_of_views(name)
    for i, label in enumerate(make_target(4, 32, views, OLD, SEEN)):
        view = 'erased' if views == 2 and i >= 2 else 'full'
        samples.append(SegDataSample(metainfo=dict(view=view)))
        samples[-1].gt_sem_seg = PixelData(data=label[None])
    with NoWaiting():
        losses = model.loss(torch.randn(4, 3, 32, 32), samples)
        sum(losses.values()).backward()
    assert len(losses) == 2 + len(model.losses)
    assert (model.teacher is None) == (name in ('ewc', 'ft', 'pi', 'rw'))
