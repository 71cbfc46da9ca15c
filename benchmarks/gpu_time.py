"""Count the time of R-101 at 512 pixels from shapes; nothing is measured.

Floating-point operations are counted by running the network on torch's meta
device, which computes shapes only: forward and backward pass of the student
for every view, and a forward pass of the teacher where the method asks one.
Images are those that the splits select from the lists of VOC that are shipped,
as often as the schedule shows them; of ADE20K, which is not shipped, at most
all 20,210 images in each step. Hours follow for speeds that a GPU may keep up
in effect. Left out: losses, optimizer, thresholds, evaluation and reading of
images. The batch changes nothing here.
"""

from __future__ import annotations

import warnings

import torch
from cases import BASE, NAMES, method_config, number_of_views
from gpu_memory import build
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.models import EncoderDecoder
from torch.utils.flop_counter import FlopCounterMode

from mmseg_rbc.datasets.class_index import shipped_class_index, shipped_names
from mmseg_rbc.datasets.splits import select_images
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.tasks import Task

SIZE = 512
TERA = 1e12
# Effective TFLOP/s: what is done, not what a data sheet promises.
SPEEDS = (5, 20, 100)
ADE_IMAGES = 20_210


def operations(model: EncoderDecoder, backward: bool) -> float:
    """Return the operations of an image: a product and a sum count as two.

    Args:
        model: On the meta device.
        backward: Whether to count the backward pass as well.
    """
    images = torch.empty(2, 3, SIZE, SIZE, device='meta')
    counter = FlopCounterMode(display=False)
    with counter, torch.set_grad_enabled(backward):
        logits = run_network(model, images).small_logits
        if backward:
            logits.sum().backward()
    return counter.get_total_flops() / 2


def images_of_steps(data: str) -> list[int]:
    """Return the images of every step, of ADE20K at most."""
    if data != 'VOC 15-1':
        return [ADE_IMAGES] * 2
    index = shipped_class_index(shipped_names('trainaug'))
    assert index is not None
    task = Task.parse('15-1', 21)
    return [
        len(select_images(index, task, step, 'overlapped'))
        for step in range(task.num_steps)
    ]


def asks_teacher(name: str) -> bool:
    """Whether a method has a teacher."""
    method = method_config(name)
    parts = ('losses', 'pseudo_labeler', 'balance')
    return any(method.get(part) for part in parts)


def groups() -> dict[tuple[bool, int], list[str]]:
    """Return the methods by teacher and number of views: they cost alike."""
    found: dict[tuple[bool, int], list[str]] = {}
    for name in NAMES:
        key = asks_teacher(name), number_of_views(name)
        found.setdefault(key, []).append(name)
    return found


def print_sequence(data: str, schedule: str, num_classes: int) -> None:
    """Print the rows of a sequence."""
    model = build(num_classes, with_cp=False)
    student = operations(model, backward=True)
    teacher = operations(model.eval(), backward=False)
    parts = Config.fromfile(BASE / f'schedules/{schedule}.py').schedule
    first, *later = images_of_steps(data)
    base = first * parts.base.epochs * student
    for (asks, views), names in groups().items():
        shown = sum(later) * parts.later.epochs * views
        total = base + shown * (student + asks * teacher)
        hours = (f'{total / TERA / s / 3600:.1f}' for s in SPEEDS)
        print(
            f'| {data} | {", ".join(names)} | {student / TERA:.2f} | '
            f'{asks * teacher / TERA:.2f} | {total / TERA / 1e6:.2f} | '
            f'{" | ".join(hours)} |'
        )


def main() -> None:
    """Print the table of docs/speed.md."""
    warnings.simplefilter('ignore')
    init_default_scope('mmseg')
    print('| sequence | methods | student | teacher | sequence |', end='')
    print(''.join(f' at {speed} |' for speed in SPEEDS))
    print('|---|---|---|---|---|' + '---|' * len(SPEEDS))
    print_sequence('VOC 15-1', 'voc', 21)
    print_sequence('ADE20K 100-50', 'ade', 151)


if __name__ == '__main__':
    main()
