"""Look at the training images of a step before it is trained."""

from __future__ import annotations

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

    Args:
        cfg: The complete config of the step.
    """
    parts = [
        DATASETS.build(dict(config, pipeline=[]))
        for config in base_datasets(cfg.train_dataloader.dataset)
    ]
    found = [_shown_classes(dataset) for dataset in parts]
    shown = None
    if all(names is not None for names in found):
        every = {name for names in found for name in names or ()}
        shown = [name for name in parts[0].metainfo['old'] if name in every]
    return Survey(sum(map(len, parts)), shown)


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
