"""Look at the training images of a step before it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmseg.registry import DATASETS

from mmseg_rbc.datasets.readable import check_readable
from mmseg_rbc.datasets.wrappers import base_datasets


@dataclass
class Survey:
    """What the training images of a step hold.

    Attributes:
        num_images: Their number.
        shown: Old classes but background that they show, in network order;
            None if their masks cannot be scanned.
        pairs: Images and masks of training and validation, if local.
        skipped: Broken ones that were left out, in each of the two.
    """

    num_images: int
    shown: list[str] | None
    pairs: list[tuple[str, str]]
    skipped: dict[str, int]


def survey_steps(configs: Sequence[Config], world_size: int) -> list[Survey]:
    """Look at the data of all steps; raise for what would stop one of them.

    Args:
        configs: The complete config of every step.
        world_size: Processes that share the images.
    """
    surveys = [survey_images(cfg) for cfg in configs]
    for step, survey in enumerate(surveys):
        if survey.num_images < world_size:
            raise ValueError(
                f'step {step} has {survey.num_images} image(s) for '
                f'{world_size} processes: start fewer processes'
            )
    every = [pair for survey in surveys for pair in survey.pairs]
    check_readable(list(dict.fromkeys(every)))
    return surveys


def survey_images(cfg: Config) -> Survey:
    """Count the training images of a step, and find the old classes in them.

    Its validation data is looked at as well: what is missing raises.

    Args:
        cfg: The complete config of the step.
    """
    parts, val_parts = (_build_datasets(cfg, p) for p in ('train', 'val'))
    found = [_shown_classes(dataset) for dataset in parts]
    shown = None
    if all(names is not None for names in found):
        every = {name for names in found for name in names or ()}
        shown = [name for name in parts[0].metainfo['old'] if name in every]
    skipped = dict(
        train=sum(dataset.num_skipped for dataset in parts),
        val=sum(dataset.num_skipped for dataset in val_parts),
    )
    pairs = [p for dataset in (*parts, *val_parts) for p in _pairs(dataset)]
    return Survey(sum(map(len, parts)), shown, pairs, skipped)


def _pairs(dataset: Any) -> list[tuple[str, str]]:
    """Return image and mask of every sample, if they are local."""
    if not dataset.is_local:
        return []
    infos = (dataset.get_data_info(i) for i in range(len(dataset)))
    return [(info['img_path'], info['seg_map_path']) for info in infos]


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
