"""What the losses of every method cost beyond the networks.

Student and teacher have run: their outputs have the shapes of DeepLabV3 with
ResNet-101 at output stride 16. Counted is what refined labels, criterion and
losses allocate, with their backward pass to the small logits and the
embedding, in units of the full-size student logits of the batch in float32.
The gradient of the backbone's features is left out: it is of their size
however a loss computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from cases import NAMES, make_target, method_config, number_of_views
from measure import Figure, in_turns, peak_memory, ratio
from mmseg.registry import MODELS

from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.models.outputs import Outputs

CLASSES = ((20, 21), (101, 151))


def build_model(
    name: str, num_old: int, num_seen: int
) -> IncrementalEncoderDecoder:
    """Build a method; its network, which does not run, has few weights."""
    small = dict(in_channels=8, channels=4, num_classes=num_seen)
    model = MODELS.build(
        dict(
            type='IncrementalEncoderDecoder',
            backbone=dict(type='ResNet', depth=18, base_channels=4),
            decode_head=dict(type='FCNHead', in_index=1, **small),
            method=method_config(name),
            previous=dict(num_classes=num_old),
        )
    )
    if model.pseudo_labeler is not None:
        model.pseudo_labeler.thresholds = torch.full((num_old,), 0.01)
    return model


def make_outputs(
    num_classes: int, images: int, size: int, num_views: int
) -> Outputs:
    """Return random outputs with the shapes of DeepLabV3, ResNet-101."""

    def rand(channels: int, stride: int) -> torch.Tensor:
        return torch.randn(images, channels, size // stride, size // stride)

    stages = ((256, 4), (512, 8), (1024, 16), (2048, 16))
    feats = tuple(rand(*stage) for stage in stages)
    return Outputs(
        feats=feats,
        head_inputs=feats,
        embedding=rand(256, 16),
        small_logits=rand(num_classes, 16),
        size=(size, size),
        num_views=num_views,
    )


class Case:
    """A method, and what it sees of a batch."""

    def __init__(
        self, name: str, num_old: int, num_seen: int, images: int, size: int
    ) -> None:
        torch.manual_seed(0)
        views = number_of_views(name)
        self.model = build_model(name, num_old, num_seen)
        self.target = make_target(images, size, views, num_old, num_seen)
        self.student = make_outputs(num_seen, images, size, views)
        self.student.labels = self.target
        self.teacher = make_outputs(num_old, images, size, views)
        self.refined = self.refine()
        self.leaves = (self.student.small_logits, self.student.embedding)
        for leaf in self.leaves:
            leaf.requires_grad_()
        self.names = ('refine', 'ce', *self.model.losses, 'all')
        self.unit = images * num_seen * size * size * 4

    def refine(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Refine the labels, from the copy that loss() makes of them."""
        target = torch.cat([*self.target[:, None]])
        return self.model.refine(self.teacher, target)

    def run(self, name: str) -> None:
        """Run one part, and its backward pass, or all of them."""
        if name == 'refine':
            self.refine()
            return
        whole = name == 'all'
        target, weight = self.refine() if whole else self.refined
        values: list[torch.Tensor] = []
        if name in ('ce', 'all'):
            num_old = self.teacher.small_logits.shape[1]
            values += self.model._criterion_losses(
                self.student, target, weight, num_old
            ).values()
        for key, loss in self.model.losses.items():
            if whole or key == name:
                values.append(loss(self.student, self.teacher, target))
        total = torch.stack(values).sum()
        if total.requires_grad:
            torch.autograd.grad(total, self.leaves, allow_unused=True)

    def peak(self, name: str) -> float:
        """Return the peak memory of a part in tensors of full-size logits."""
        return peak_memory(lambda: self.run(name)) / self.unit

    def plain(self) -> None:
        """Run MMSeg's cross entropy of full-size logits, for comparison."""
        logits = self.student.resize(self.student.small_logits)
        F.cross_entropy(logits, self.target, ignore_index=255).backward(
            inputs=[self.student.small_logits]
        )


def loss_figures(quick: bool) -> Iterator[Figure]:
    """Measure memory of every part of a method, and the time of all."""
    for num_old, num_seen in CLASSES:
        for name in NAMES:
            case = Case(name, num_old, num_seen, 8, 128)
            what = f'{name}, {num_seen} classes'
            for part in case.names if not quick else ('all',):
                limit = '<= 0.5' if part == 'all' else ''
                yield Figure(
                    'losses',
                    f'{what}: memory of {part} / full-size logits',
                    case.peak(part),
                    limit=limit,
                )
            functions: dict[str, Callable[[], object]] = {}
            functions.update(all=partial(case.run, 'all'), ce=case.plain)
            times = in_turns(functions, 3 if quick else 7)
            text = f'{what}: time of all losses / plain cross entropy'
            yield ratio('losses', text, times['all'], times['ce'])
