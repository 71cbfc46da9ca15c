"""Look at the images of a step before it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmseg.registry import DATASETS

from mmseg_rbc.datasets.wrappers import base_datasets


@dataclass
class Survey:
    """What the images of a step hold.

    Attributes:
        num_images: Number of training images.
        fingerprints: Of the images of training and evaluation, see
            :meth:`.ContinualMixin.fingerprint`.
        shown: Old classes but background that training images show, in
            network order; None if their masks cannot be scanned.
    """

    num_images: int
    fingerprints: dict[str, str]
    shown: list[str] | None


def survey_images(cfg: Config) -> Survey:
    """Count the training images of a step, and find the old classes in them.

    Args:
        cfg: The complete config of the step.
    """
    parts = _build_datasets(cfg, 'train')
    found = [_shown_classes(dataset) for dataset in parts]
    shown = None
    if all(names is not None for names in found):
        every = {name for names in found for name in names or ()}
        shown = [name for name in parts[0].metainfo['old'] if name in every]
    phases = dict(train=parts, val=_build_datasets(cfg, 'val'))
    fingerprints = {
        phase: '+'.join(dataset.fingerprint() for dataset in datasets)
        for phase, datasets in phases.items()
    }
    return Survey(sum(map(len, parts)), fingerprints, shown)


def _build_datasets(cfg: Config, phase: str) -> list[Any]:
    """Build the data sets inside a data loader, without their transforms."""
    loader = cfg.get(f'{phase}_dataloader') or {}
    # MMEngine collects garbage when it serializes, which takes far longer.
    plain = dict(pipeline=[], serialize_data=False)
    return [
        DATASETS.build(dict(config, **plain))
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
