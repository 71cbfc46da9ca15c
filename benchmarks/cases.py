"""Methods with their networks, and batches, for the benchmarks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from mmengine.config import Config
from mmengine.structures import PixelData
from mmseg.registry import MODELS, TASK_UTILS
from mmseg.structures import SegDataSample
from torch import Tensor

import mmseg_rbc  # noqa: F401
from mmseg_rbc.engine.step_parts import NOT_OF_MODEL
from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.models.regularizers import ImportanceState

BASE = Path(__file__).parents[1] / 'configs/_base_'
METHODS = BASE / 'methods'
# One row of a table each; the others are ablations of RBC.
NAMES = ['ft', 'pi', 'ewc', 'rw', 'lwf', 'lwf-mc', 'ilt', 'mib', 'plop', 'rbc']
NETWORKS = ('mv2', 'r50')
NUM_OLD, NUM_SEEN = 16, 21


def whole_method(name: str) -> Config:
    """Return a method as its config has it."""
    return Config.fromfile(METHODS / f'{name}.py').method


def method_config(name: str) -> Config:
    """Return the parts of a method that the segmentor has."""
    method = whole_method(name)
    for key in NOT_OF_MODEL:
        method.pop(key, None)
    return method


def number_of_views(name: str) -> int:
    """Return 2 if a method has duplets."""
    return 2 if whole_method(name).get('erase') else 1


def network_config(name: str) -> Config:
    """Return the network of voc128 or DeepLabV3 with a ResNet-50."""
    file = dict(mv2='deeplabv3_mv2-d16', r50='deeplabv3_r101-d16')[name]
    model = Config.fromfile(BASE / f'models/{file}.py').model
    model.data_preprocessor.size_divisor = 1
    model.backbone.pop('init_cfg')
    if name == 'r50':
        model.backbone.depth = 50
    for part in (model.backbone, model.decode_head):
        part.norm_cfg = dict(type='BN', requires_grad=True)
    return model


def build_model(
    network: str, method: str, num_old: int = NUM_OLD, num_seen: int = NUM_SEEN
) -> IncrementalEncoderDecoder:
    """Build a step after the first, from a network with random weights."""
    cfg = network_config(network)
    cfg.decode_head.num_classes = num_old
    torch.manual_seed(0)
    stock = Config(dict(cfg, type='EncoderDecoder'))
    stock.pop('channels_last', None)
    state = MODELS.build(stock.to_dict()).state_dict()
    cfg.decode_head.num_classes = num_seen
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'final.pth')
        torch.save(dict(state_dict=state, meta={}), path)
        cfg.update(
            method=method_config(method),
            previous=dict(checkpoint=path, num_classes=num_old),
        )
        model = MODELS.build(cfg)
        model.init_weights()
    if model.pseudo_labeler is not None:
        model.pseudo_labeler.thresholds = torch.full((num_old,), 0.01)
    return model.train()


def make_target(
    images: int, size: int, num_views: int, num_old: int, num_seen: int
) -> Tensor:
    """Return labels, half background and half new; that half is erased."""
    target = torch.randint(num_old, num_seen, (images, size, size))
    target[:, : size // 2] = 0
    if num_views == 2:
        target[images // 2 :, size // 2 :] = 255
    return target


def make_batch(
    images: int,
    views: int,
    size: int,
    num_old: int = NUM_OLD,
    num_seen: int = NUM_SEEN,
) -> dict:
    """Return what a data loader gives, the views of an image apart."""
    target = make_target(images, size, views, num_old, num_seen)
    samples = []
    for i, label in enumerate(target):
        erased = views == 2 and i >= images // 2
        meta = dict(view='erased' if erased else 'full')
        sample = SegDataSample(metainfo=meta)
        sample.gt_sem_seg = PixelData(data=label[None])
        samples.append(sample)
    pictures = torch.randint(0, 256, (images, 3, size, size))
    inputs = [*pictures.to(torch.uint8)]
    return dict(inputs=inputs, data_samples=samples)


def make_optimizer(model: torch.nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer of the schedules."""
    return torch.optim.SGD(model.parameters(), 1e-5, 0.9, weight_decay=1e-4)


class Iteration:
    """One iteration of a method, and the bare work of the same batch.

    Args:
        network: ``mv2`` or ``r50``.
        method: Its name.
        images: In the batch: all views, so that methods compare.
        size: Of their sides.
    """

    def __init__(
        self,
        network: str,
        method: str,
        images: int,
        size: int,
        classes: tuple[int, int] = (NUM_OLD, NUM_SEEN),
    ) -> None:
        self.model = build_model(network, method, *classes)
        views = number_of_views(method)
        self.batch = make_batch(images, views, size, *classes)
        self.optimizer = self.bare_optimizer = make_optimizer(self.model)
        importance = whole_method(method).get('importance')
        if importance:
            self._regularize(importance)

    def _regularize(self, importance: dict) -> None:
        """Gather and penalize before every step, as ``ImportanceHook``."""
        regularizer = TASK_UTILS.build(dict(importance))
        named = dict(self.model.named_parameters())
        weights = {name: p.detach() for name, p in named.items()}
        arguments = regularizer, weights, self.model.num_classes
        ended = ImportanceState(*arguments).end(weights)
        old = {name: weight.clone() for name, weight in weights.items()}
        state = ImportanceState(*arguments, ended, old)

        @torch.no_grad()
        def before_step(*_: object) -> None:
            gradients = {
                name: p.grad for name, p in named.items() if p.grad is not None
            }
            state.update(weights, gradients)

        self.optimizer = make_optimizer(self.model)
        self.optimizer.register_step_pre_hook(before_step)

    def run(self) -> None:
        """Run the method, from the data loader to the optimizer."""
        data = self.model.data_preprocessor(self.batch, True)
        losses = self.model.loss(**data)
        self.optimizer.zero_grad()
        torch.stack(list(losses.values())).sum().backward()
        self.optimizer.step()

    def bare(self) -> None:
        """Run the student, plain cross entropy, teacher and optimizer."""
        data = self.model.data_preprocessor(self.batch, True)
        labels = [s.gt_sem_seg.data for s in data['data_samples']]
        student = run_network(self.model, data['inputs'])
        if self.model.teacher is not None:
            with torch.no_grad():
                run_network(self.model.teacher, data['inputs'])
        loss = F.cross_entropy(
            student.logits, torch.cat(labels), ignore_index=255
        )
        self.bare_optimizer.zero_grad()
        loss.backward()
        self.bare_optimizer.step()
