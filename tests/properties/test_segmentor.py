"""The loss of every method on any batch, through the whole segmentor."""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from helpers import CONFIGS
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.registry import MODELS, TASK_UTILS
from mmseg.structures import SegDataSample
from model_cases import network, trained_network
from strategies import SEEDS, generator, label_maps
from torch import Tensor, nn

from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.models.regularizers import ImportanceState
from mmseg_rbc.tasks import IGNORE_INDEX

OLD, SEEN = 3, 5
# Ends of names: fusion, memory and warm starts change no loss.
SAME_LOSSES = ('-ewf', '-ewf_ade', '-awt', '-m')
METHODS = {
    path.stem: Config.fromfile(path).method
    for path in sorted((CONFIGS / '_base_/methods').glob('*.py'))
    if path.stem != 'joint' and not path.stem.endswith(SAME_LOSSES)
}
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# A forward and a backward pass take longer than one loss.
few = settings(max_examples=math.ceil(settings().max_examples / 3))

Batch = tuple[Tensor, Tensor]


@pytest.fixture(scope='module')
def students(tmp_path_factory):
    """Return the student of a method at the start of step 1, built once."""
    init_default_scope('mmseg')
    path = str(tmp_path_factory.mktemp('teacher') / 'previous.pth')
    state = trained_network(OLD).state_dict()
    torch.save(dict(state_dict=state, meta=dict(dataset_meta={})), path)
    previous = dict(checkpoint=path, num_classes=OLD)
    outside = ('erase', 'importance', 'base_criterion')

    @cache
    def build(name: str) -> nn.Module:
        torch.manual_seed(2)
        parts = {k: v for k, v in METHODS[name].items() if k not in outside}
        model = MODELS.build(network(SEEN, method=parts, previous=previous))
        model.init_weights()
        if model.pseudo_labeler is not None:
            model.pseudo_labeler.thresholds = torch.tensor([0.2, 0.1, 0.001])
        return model

    return build


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Draw images and training labels: 0, new classes and void."""
    count = draw(st.integers(1, 3))
    side = st.sampled_from([1, 8, 9, 17, 32])
    size = (draw(side), draw(side))
    labels = [0, *range(OLD, SEEN), IGNORE_INDEX]
    target = draw(label_maps(count, size, labels))
    scale = draw(st.sampled_from([1.0, 0.0, 10.0]))
    g = generator(draw(SEEDS))
    return scale * torch.randn(count, 3, *size, generator=g), target


def step_losses(
    model: nn.Module, name: str, batch: Batch, dtype: torch.dtype
) -> dict[str, Tensor]:
    """Evaluate the losses, on duplets if the method has them."""
    views = [(*batch, 'full')]
    if 'erase' in METHODS[name]:
        images, target = batch
        keep = target < OLD
        erased = target.where(keep, IGNORE_INDEX)
        views.append((images * keep[:, None], erased, 'erased'))
    samples = []
    for _, target, view in views:
        for labels in target:
            samples.append(SegDataSample(metainfo=dict(view=view)))
            samples[-1].gt_sem_seg = PixelData(data=labels[None])
    # Images of up to 8 x 8 pixels become one value a channel. Batch norm does
    # not train on one value, and equal ones, of them or of empty images,
    # multiply the gradient by 316 in each layer, which ends float16 in any
    # network.
    tiny = max(batch[0].shape[2:]) <= 8
    equal = tiny or not batch[0].any()
    model.freeze_norm = (tiny and len(samples) == 1) or (
        equal and dtype == torch.float16
    )
    model.train().zero_grad()
    mixed = dtype != torch.float32
    with torch.autocast('cpu', dtype if mixed else torch.bfloat16, mixed):
        return model.loss(torch.cat([view[0] for view in views]), samples)


def test_all_methods_are_tried():
    assert len(METHODS) == 17 + 3


@pytest.mark.parametrize('name', METHODS)
@few
@given(batch=batches(), dtype=st.sampled_from(DTYPES))
def test_losses_and_gradients_are_finite(students, name, batch, dtype):
    model = students(name)
    losses = step_losses(model, name, batch, dtype)
    expected = {'loss_ce', *(f'loss_{k}' for k in model.losses)}
    assert losses.keys() == expected
    for value in losses.values():
        assert torch.isfinite(value) and value.dtype == torch.float32
    sum(losses.values()).backward()
    gradients = {n: p.grad for n, p in model.named_parameters()}
    assert None not in gradients.values()
    assert all(torch.isfinite(g).all() for g in gradients.values())
    if 'importance' in METHODS[name]:
        check_importance(name, model, gradients)


def check_importance(
    name: str, model: nn.Module, gradients: dict[str, Tensor]
) -> None:
    """Two steps of a regularizer on the network's own gradients."""
    rule = TASK_UTILS.build(METHODS[name].importance)
    theta = {n: p.detach().clone() for n, p in model.named_parameters()}
    state = ImportanceState(rule, theta, SEEN)
    moved = {n: theta[n] - 0.1 * g for n, g in gradients.items()}
    state.update(theta, gradients)
    later = ImportanceState(rule, theta, SEEN, state.end(moved), theta)
    later.update(moved, gradients)
    assert torch.isfinite(later.penalty(moved))
    assert all(torch.isfinite(g).all() for g in gradients.values())


@pytest.mark.parametrize('name', METHODS)
@few
@given(batch=batches(), seed=SEEDS)
def test_void_costs_nothing_and_order_does_not_matter(
    students, name, batch, seed
):
    model, (images, target) = students(name), batch
    void = torch.full_like(target, IGNORE_INDEX)
    losses = step_losses(model, name, (images, void), torch.float32)
    assert losses['loss_ce'] == 0
    assert losses.get('loss_consistency', 0) == 0, 'no old pixels'
    order = torch.randperm(len(images), generator=generator(seed))
    straight = step_losses(model, name, batch, torch.float32)
    shuffled = (images[order], target[order])
    other = step_losses(model, name, shuffled, torch.float32)
    for key, value in straight.items():
        torch.testing.assert_close(other[key], value, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize('name', ['rbc', 'rbc-released'])
@few
@given(batch=batches())
def test_refined_labels_of_both_views(students, name, batch):
    """The erased view has the labels of the full one where it was kept."""
    model, (images, target) = students(name), batch
    keep = target < OLD
    erased = target.where(keep, IGNORE_INDEX)
    inputs = torch.cat([images, images * keep[:, None]])
    teacher = run_network(model.teacher, inputs, 2)
    refined, weight = model.refine(teacher, torch.cat([target, erased]))
    full, other = refined.chunk(2)
    assert torch.equal(full[~keep], target[~keep])
    assert torch.equal(other, full.where(keep, IGNORE_INDEX))
    eta_beta, beta = weight.expand_as(refined).chunk(2)
    assert torch.equal(beta, beta[:, :1, :1].expand_as(beta))
    assert beta.min() >= 0 and beta.max() <= 1
    assert (eta_beta >= beta).all() and eta_beta.max() <= 1.5
