"""Look at the images of a step before it is trained."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmseg.registry import DATASETS

from mmseg_rbc.datasets.readable import check_readable
from mmseg_rbc.datasets.wrappers import base_datasets


@dataclass
class Survey:
    """What the images of a step hold.

    Attributes:
        num_images: Number of training images; 0 if nothing is trained.
        fingerprints: Of the images of training and evaluation, see
            :meth:`.ContinualMixin.fingerprint`.
        shown: Old classes but background that training images show, in
            network order; None if their masks cannot be scanned.
        pairs: Images and masks of training and validation, if local.
        skipped: Broken ones that were left out, in each of the two.
        has_colors: Whether masks have colors.
    """

    num_images: int
    fingerprints: dict[str, str]
    shown: list[str] | None
    pairs: list[tuple[str, str]]
    skipped: dict[str, int]
    has_colors: bool = False

    def record(self) -> dict[str, Any]:
        """Return what ``finished.json`` says of the images."""
        return dict(
            shown=self.shown,
            skipped_files=self.skipped,
            data=self.fingerprints,
        )


def survey_steps(
    configs: Sequence[Config],
    world_size: int,
    trained: Collection[int] = (),
) -> list[Survey]:
    """Look at the data of all steps; raise for what would stop one of them.

    Args:
        configs: The complete config of every step.
        world_size: Processes that share the images.
        trained: Steps whose networks are there: no training image of them is
            needed.
    """
    surveys = [
        survey_images(cfg, step in trained) for step, cfg in enumerate(configs)
    ]
    for step, survey in enumerate(surveys):
        if survey.num_images < world_size and step not in trained:
            raise ValueError(
                f'step {step} has {survey.num_images} image(s) for '
                f'{world_size} processes: start fewer processes'
            )
    every = [pair for survey in surveys for pair in survey.pairs]
    has_colors = any(survey.has_colors for survey in surveys)
    check_readable(list(dict.fromkeys(every)), has_colors)
    return surveys


def survey_images(cfg: Config, trained: bool = False) -> Survey:
    """Count the training images of a step, and find the old classes in them.

    Its validation data is looked at as well: what is missing raises.

    Args:
        cfg: The complete config of the step.
        trained: Whether its training images are not needed.
    """
    needed = ('val',) if trained else ('train', 'val')
    phases = {p: _build_datasets(cfg, p) for p in needed}
    parts = phases.get('train', [])
    found = [_shown_classes(dataset) for dataset in parts]
    shown = None
    if parts and all(names is not None for names in found):
        every = {name for names in found for name in names or ()}
        shown = [name for name in parts[0].metainfo['old'] if name in every]
    every_part = [part for group in phases.values() for part in group]
    return Survey(
        num_images=sum(map(len, parts)),
        fingerprints={
            phase: '+'.join(part.fingerprint() for part in group)
            for phase, group in phases.items()
        },
        shown=shown,
        pairs=[pair for part in every_part for pair in _pairs(part)],
        skipped={
            phase: sum(part.num_skipped for part in group)
            for phase, group in phases.items()
        },
        has_colors=any(part.mask_palette is not None for part in every_part),
    )


def num_train_images(cfg: Config) -> int:
    """Return the number of training images of a step.

    Args:
        cfg: The complete config of the step.
    """
    return sum(map(len, _build_datasets(cfg, 'train')))


def _pairs(dataset: Any) -> list[tuple[str, str]]:
    """Return image and mask of every sample, if they are local."""
    if not dataset.is_local:
        return []
    infos = (dataset.get_data_info(i) for i in range(len(dataset)))
    return [(info['img_path'], info['seg_map_path']) for info in infos]


def _build_datasets(cfg: Config, phase: str) -> list[Any]:
    """Build the data sets of a phase, without their transforms."""
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
