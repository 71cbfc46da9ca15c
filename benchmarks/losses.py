"""Measure what the losses of every method cost beyond the networks.

Student and teacher have run: their outputs have the shapes of DeepLabV3 with
ResNet-101 at output stride 16. Counted is what refined labels, criterion and
losses allocate, with their backward pass to the small logits and the
embedding, in units of the full-size student logits of the batch in float32.
The gradient of the backbone's features is left out: it is of their size
however a loss computes it.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import MODELS

import mmseg_rbc  # noqa: F401
from mmseg_rbc.engine.step_parts import NOT_OF_MODEL
from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.models.outputs import Outputs

METHODS = Path(__file__).parents[1] / 'configs/_base_/methods'
CLASSES = ((20, 21), (101, 151))


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('methods', nargs='*', help='all if left out')
    parser.add_argument('--images', type=int, default=8, help='or views')
    parser.add_argument('--size', type=int, default=128, help='of an image')
    parser.add_argument('--repeats', type=int, default=3)
    return parser.parse_args()


def peak_memory(function: Callable[[], object]) -> int:
    """Return the peak of what a function allocates, in bytes (CPU)."""
    with torch.profiler.profile(profile_memory=True) as profile:
        function()
    events = profile.profiler.kineto_results.events()
    changes = [
        (event.start_ns(), event.nbytes())
        for event in events
        if event.name() == '[memory]'
    ]
    return int(max(np.cumsum([size for _, size in sorted(changes)])))


def method_config(name: str) -> Config:
    """Return the parts of a method that the segmentor has."""
    method = Config.fromfile(METHODS / f'{name}.py').method
    for key in NOT_OF_MODEL:
        method.pop(key, None)
    return method


def number_of_views(name: str) -> int:
    """Return 2 if a method has duplets."""
    erase = Config.fromfile(METHODS / f'{name}.py').method.get('erase')
    return 2 if erase else 1


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


def make_target(
    images: int, size: int, num_views: int, num_old: int, num_seen: int
) -> torch.Tensor:
    """Return labels, half background and half new; that half is erased."""
    target = torch.randint(num_old, num_seen, (images, size, size))
    target[:, : size // 2] = 0
    if num_views == 2:
        target[images // 2 :, size // 2 :] = 255
    return target


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


def timed(function: Callable[[], None], repeats: int) -> float:
    """Return the least CPU time of some calls, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Run the command line."""
    args = parse_args()
    init_default_scope('mmseg')
    names = args.methods or sorted(path.stem for path in METHODS.glob('*.py'))
    for num_old, num_seen in CLASSES:
        print(f'{num_seen} classes, {num_old} of them old')
        for name in names:
            case = Case(name, num_old, num_seen, args.images, args.size)
            peaks = ', '.join(f'{n} {case.peak(n):.3f}' for n in case.names)
            seconds = timed(partial(case.run, 'all'), args.repeats)
            print(f'  {name}: {peaks}; all in {1000 * seconds:.0f} ms')


if __name__ == '__main__':
    main()
