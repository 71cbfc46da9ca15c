"""What is done around training: thresholds, evaluation, starts, checkpoints.

The share of a VOC-sized sequence is counted from measured pieces: 15-1
overlapped with the published schedule, RBC, the network of voc128 at 128
pixels. Left out on both sides: reading images, and MMEngine's own start.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import numpy as np
import torch
from cases import BASE, Iteration, build_model, make_optimizer
from measure import Figure, in_turns, ratio
from mmengine.config import Config

from mmseg_rbc.datasets.class_index import shipped_class_index, shipped_names
from mmseg_rbc.datasets.splits import select_images
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.tasks import Task

IMAGES = 8


def around_figures(quick: bool) -> Iterator[Figure]:
    """Measure the pieces, and count their share."""
    rbc, base = (Iteration('mv2', m, IMAGES, 128) for m in ('rbc', 'ft'))
    data = rbc.model.data_preprocessor(rbc.batch, True)
    inputs = data['inputs']
    labels = torch.cat([s.gt_sem_seg.data for s in data['data_samples']])
    teacher, labeler = rbc.model.teacher, rbc.model.pseudo_labeler
    assert labeler is not None
    network = build_model('mv2', 'ft').eval()

    @torch.no_grad()
    def ask() -> None:
        run_network(teacher, inputs)

    @torch.no_grad()
    def evaluate() -> None:
        for image in inputs:
            network.predict(image[None])

    functions = dict(
        train=rbc.run,
        base=base.run,
        ask=ask,
        thresholds=lambda: labeler.estimate(
            teacher, lambda: [(inputs, labels)], 21
        ),
        evaluate=evaluate,
        start=lambda: (build_model('mv2', 'rbc'), build_model('mv2', 'rbc')),
        checkpoint=lambda: write_checkpoint(network),
    )
    times = in_turns(functions, 3 if quick else 7)
    what = 'pass for the thresholds / teacher on the same images'
    yield ratio('around', what, times['thresholds'], times['ask'])
    yield from share_figures(
        {k: float(np.median(t)) for k, t in times.items()}
    )


def write_checkpoint(network: torch.nn.Module) -> None:
    """Write weights and momentum to a file, and read them."""
    optimizer = make_optimizer(network)
    for parameter in network.parameters():
        state = optimizer.state[parameter]
        state['momentum_buffer'] = torch.zeros_like(parameter)
    content = dict(net=network.state_dict(), optim=optimizer.state_dict())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'epoch.pth')
        torch.save(content, path)
        torch.load(path)


def share_figures(seconds: dict[str, float]) -> Iterator[Figure]:
    """Count images of all steps, and what is done with each."""
    schedule = Config.fromfile(BASE / 'schedules/voc.py').schedule
    task = Task.parse('15-1', 21)
    index = shipped_class_index(shipped_names('trainaug'))
    assert index is not None
    counts = [
        len(select_images(index, task, step, 'overlapped'))
        for step in range(task.num_steps)
    ]
    steps, later = len(counts), sum(counts[1:])
    epochs = schedule.base.epochs, schedule.later.epochs
    training = counts[0] * epochs[0] * seconds['base'] / IMAGES
    # Two views of an image.
    training += later * epochs[1] * 2 * seconds['train'] / IMAGES
    parts = dict(
        thresholds=later * seconds['thresholds'] / IMAGES,
        evaluation=steps * 1449 * seconds['evaluate'] / IMAGES,
        starts=steps * seconds['start'],
        checkpoints=(epochs[0] + (steps - 1) * epochs[1] + steps)
        * seconds['checkpoint'],
    )
    total = training + sum(parts.values())
    for name, part in parts.items():
        yield Figure('around', f'share of {name}', part / total)
    what = (
        f'share of all of them: {counts[0]} x {epochs[0]} and 2 x {later} x '
        f'{epochs[1]} trained, {later} and {steps} x 1449 seen once'
    )
    share = sum(parts.values()) / total
    yield Figure('around', what, share, limit='<= 0.05')
