"""Gradients of four small batches, accumulated, are those of the large one."""

import sys

import pytest
import torch
from helpers import REPO
from mmengine.optim import OptimWrapper
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from model_cases import OLD, SEEN, network, trained_network

sys.path.insert(0, str(REPO / 'benchmarks'))
from cases import NAMES, method_config, number_of_views  # noqa: E402

sys.path.pop(0)
IMAGES, SIZE, PARTS = 8, 16, 4


def build(name, checkpoint):
    """Build a method whose norms use no statistics of the batch."""
    method = method_config(name)
    previous = dict(checkpoint=checkpoint, num_classes=OLD)
    model = MODELS.build(
        network(SEEN, method=method, previous=previous, freeze_norm=True)
    )
    torch.manual_seed(0)
    model.init_weights()
    # Else the student is the teacher, and distances between them are 0.
    for parameter in model.parameters():
        parameter.data += 0.02 * torch.randn_like(parameter)
    if model.pseudo_labeler is not None:
        model.pseudo_labeler.thresholds = torch.full((OLD,), 1.0)
    return model.train()


def samples(labels, view):
    found = []
    for label in labels:
        found.append(SegDataSample(metainfo=dict(view=view)))
        found[-1].gt_sem_seg = PixelData(data=label[None])
    return found


def batch(views, images, labels, part):
    """Return the inputs of loss(): full views, then erased ones."""
    images, labels = images[part], labels[part]
    found = samples(labels, 'full')
    if views == 1:
        return images, found
    new = labels >= OLD
    erased = images.masked_fill(new[:, None], 0)
    found += samples(labels.masked_fill(new, 255), 'erased')
    return torch.cat([images, erased]), found


def change(model, batches):
    """Return what one step of the optimizer changes, over all weights."""
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    wrapper = OptimWrapper(optimizer, accumulative_counts=len(batches))
    for one in batches:
        with wrapper.optim_context(model):
            losses = model.loss(*one)
        wrapper.update_params(sum(losses.values()))
    after = model.parameters()
    return torch.cat([(b - a).flatten() for a, b in zip(after, before)])


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory):
    path = str(tmp_path_factory.mktemp('accumulation') / 'previous.pth')
    state = trained_network(OLD).state_dict()
    torch.save(dict(state_dict=state, meta={}), path)
    return path


def both_changes(name, checkpoint, equal_counts=False):
    """Return the change by the large batch, and by its parts."""
    g = torch.Generator().manual_seed(4)
    images = torch.randn(IMAGES, 3, SIZE, SIZE, generator=g)
    labels = torch.randint(OLD, SEEN, (IMAGES, SIZE, SIZE), generator=g)
    # As much background, where old classes hide, in each part, or not.
    for i, label in enumerate(labels):
        label[: SIZE // 2 if equal_counts or i < 2 else 2] = 0
    if equal_counts:
        images, labels = (
            images[:2].repeat(4, 1, 1, 1),
            labels[:2].repeat(4, 1, 1),
        )
    views = number_of_views(name)
    parts = torch.arange(IMAGES).chunk(PARTS)
    whole = change(
        build(name, checkpoint),
        [batch(views, images, labels, torch.arange(IMAGES))],
    )
    pieces = change(
        build(name, checkpoint),
        [batch(views, images, labels, part) for part in parts],
    )
    return whole, pieces


@pytest.mark.parametrize('name', [*NAMES[:-1], 'rbc-duplet', 'rbc-balance'])
def test_parts_of_a_batch_add_up(name, checkpoint):
    whole, pieces = both_changes(name, checkpoint)
    assert whole.norm() > 0
    assert (whole - pieces).norm() <= 1e-5 * whole.norm()


def test_consistency_is_a_mean_of_each_part(checkpoint):
    """As docs/speed.md says: exact where parts have as many old pixels."""
    whole, pieces = both_changes('rbc', checkpoint, equal_counts=True)
    assert (whole - pieces).norm() <= 1e-5 * whole.norm()
    whole, pieces = both_changes('rbc', checkpoint)
    assert (whole - pieces).norm() > 1e-5 * whole.norm()
