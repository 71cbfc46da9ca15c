"""The batch of a step, which any number of processes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.logging import print_log

from mmseg_rbc.datasets.memory_sampler import draws_of_step

# The share of a batch that comes from memory is 0.9 at most.
MOST_TIMES = 10


def num_draws(part: Mapping[str, Any], views: int) -> int:
    """Return how many images are loaded for the batch of a schedule.

    Its ``batch_size`` counts the images of all processes; an erased view is
    an image, so a method that erases loads half as many.

    Args:
        part: ``schedule.base`` or ``schedule.later``.
        views: Of every image that is loaded.
    """
    draws, rest = divmod(part['batch_size'], views)
    if rest:
        raise ValueError(
            f'a batch of {part["batch_size"]} images cannot be filled with '
            f'{views} views of each image: change '
            'schedule.later.batch_size to a multiple of it'
        )
    return draws


def set_batch(
    cfg: Config, part: Mapping[str, Any], views: int, world_size: int
) -> None:
    """Set the batch of all processes, and the learning rate.

    With more processes than images both grow, to one image a process, by the
    same factor (as MMEngine's ``auto_scale_lr``).

    Args:
        cfg: The config of a step, changed in place.
        part: ``schedule.base`` or ``schedule.later``.
        views: Of every image that is loaded.
        world_size: Processes that share the batch.
    """
    wanted = num_draws(part, views)
    batch = max(wanted, world_size)
    cfg.train_dataloader.batch_size = batch
    lr = part['lr']
    cfg.optim_wrapper.optimizer.lr = (
        lr if batch == wanted else lr * batch / wanted
    )


def images_of_step(loader: Mapping[str, Any]) -> int:
    """Return how many images of a batch do not come from memory.

    Args:
        loader: Config of the training data loader of a step.
    """
    share = loader['sampler'].get('sampler', {}).get('share', 0)
    return draws_of_step(loader['batch_size'], share)


def fit_batch(loader: ConfigDict, num_images: int, step: int) -> None:
    """Shrink the batch of a step to what its images can fill, in place.

    Args:
        loader: Config of its training data loader.
        num_images: Of the step.
        step: Its number, for the message.
    """
    before = loader.batch_size
    # Most of a batch at most comes from memory: no search from 10**18 down.
    loader.batch_size = min(before, MOST_TIMES * (num_images + 1))
    while images_of_step(loader) > num_images:
        loader.batch_size -= 1
    if loader.batch_size < before:
        print_log(
            f'step {step} has {num_images} images, less than one batch: the '
            f'batch shrinks from {before} to {loader.batch_size}',
            'current',
        )


def growth_sentence(
    single: Sequence[Config], configs: Sequence[Config]
) -> str | None:
    """Say which steps have a larger batch than they would with one process.

    Args:
        single: The config of every step for one process.
        configs: The same for the processes that there are.
    """
    steps: dict[str, list[str]] = {}
    for step, (before, after) in enumerate(zip(single, configs)):
        loaders = before.train_dataloader, after.train_dataloader
        if loaders[0].batch_size < loaders[1].batch_size:
            steps.setdefault(_change(before, after), []).append(str(step))
    if not steps:
        return None
    changes = [f'step {", ".join(steps[text])}: {text}' for text in steps]
    return (
        'more processes than images in a batch: it grows to one image a '
        f'process, and the learning rate with it ({"; ".join(changes)})'
    )


def _change(before: Config, after: Config) -> str:
    sizes = [cfg.train_dataloader.batch_size for cfg in (before, after)]
    rates = [cfg.optim_wrapper.optimizer.lr for cfg in (before, after)]
    return (
        f'{sizes[0]} to {sizes[1]} images, lr {rates[0]:.3g} to {rates[1]:.3g}'
    )
