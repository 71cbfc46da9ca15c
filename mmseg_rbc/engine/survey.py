"""Look at the training images of a step before it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmseg.registry import DATASETS

from mmseg_rbc.datasets.wrappers import base_datasets


@dataclass
class Survey:
    """What the training images of a step hold.

    Attributes:
        num_images: Their number.
        shown: Old classes but background that they show, in network order;
            None if their masks cannot be scanned.
    """

    num_images: int
    shown: list[str] | None


def survey_images(cfg: Config) -> Survey:
    """Count the training images of a step, and find the old classes in them.

    Its validation data is looked at as well: what is missing raises.

    Args:
        cfg: The complete config of the step.
    """
    parts = _build_datasets(cfg, 'train')
    _build_datasets(cfg, 'val')
    found = [_shown_classes(dataset) for dataset in parts]
    shown = None
    if all(names is not None for names in found):
        every = {name for names in found for name in names or ()}
        shown = [name for name in parts[0].metainfo['old'] if name in every]
    return Survey(sum(map(len, parts)), shown)


def _build_datasets(cfg: Config, phase: str) -> list[Any]:
    """Build the data sets of a phase, which checks that files are there."""
    loader = cfg.get(f'{phase}_dataloader') or {}
    return [
        DATASETS.build(dict(config, pipeline=[]))
        for config in base_datasets(loader.get('dataset'))
    ]


def _shown_classes(dataset: Any) -> set[str] | None:
    """Return the old classes that images of a data set show."""
    old = dataset.task.old(dataset.step)[1:]
    if not old:
        return set()
    images = [dataset.get_data_info(i) for i in range(len(dataset))]
    try:
        index = dataset.classes_of(images).any(0)
    except ValueError:
        # Not local, or with values that a split file need not look at.
        return None
    return {dataset.all_classes[c] for c in old if index[c]}


def check_shares(images: Sequence[int], world_size: int) -> None:
    """Raise if a step has fewer images than there are processes.

    Args:
        images: Training images of every step.
        world_size: Processes that share them.
    """
    for step, count in enumerate(images):
        if count < world_size:
            raise ValueError(
                f'step {step} has {count} image(s) for {world_size} '
                'processes: start fewer processes'
            )
