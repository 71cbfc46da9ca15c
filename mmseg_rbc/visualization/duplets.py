"""Draw image duplets with their raw and training masks."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from textwrap import shorten

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from mmengine.dataset import Compose
from mmseg.datasets.transforms import PackSegInputs

from mmseg_rbc.datasets import ContinualDataset
from mmseg_rbc.datasets.transforms import (
    LoadContinualAnnotations,
    NewClassErase,
)
from mmseg_rbc.tasks import IGNORE_INDEX

VOID_COLOR = (224, 224, 192)
COLUMNS = ('image', 'erased image', 'raw mask', 'training mask')
# Width of a picture in inches.
CELL = 3.0


def duplet_views(
    dataset: ContinualDataset, indices: Sequence[int], erase: NewClassErase
) -> list[dict]:
    """Run the pipeline of a data set up to packing.

    Args:
        dataset: A continual data set with a training pipeline.
        indices: The samples to take.
        erase: Applied last, unless the pipeline erases already.

    Returns:
        For every sample ``img``, ``img_erased``, ``gt_raw_map``,
        ``gt_seg_map`` and ``img_path``.
    """
    transforms = [
        copy.copy(transform)
        for transform in dataset.pipeline.transforms
        if not isinstance(transform, PackSegInputs)
    ]
    _keep_raw(transforms)
    if not any(isinstance(t, NewClassErase) for t in transforms):
        transforms.append(erase)
    pipeline = Compose(transforms)
    views = [pipeline(dataset.get_data_info(i)) for i in indices]
    for view in views:
        view.setdefault('img_erased', view['img'])
    return views


def _keep_raw(transforms: Sequence[object]) -> None:
    """Let a pipeline hand on the mask as it is in the file."""
    loaders = [
        t for t in transforms if isinstance(t, LoadContinualAnnotations)
    ]
    if not loaders:
        raise ValueError(
            'the training pipeline has no LoadContinualAnnotations: use it in '
            'place of LoadAnnotations'
        )
    loaders[0].keep_raw = True


def draw_duplets(
    dataset: ContinualDataset, views: Sequence[dict], path: str
) -> None:
    """Write a grid: one row for every sample, one column for every view.

    Args:
        dataset: The data set that the samples come from.
        views: What :func:`duplet_views` returns.
        path: The picture to write.
    """
    height, width = views[0]['img'].shape[:2]
    total = len(views) * (CELL * height / width + 0.55) + 0.5
    figure = Figure(figsize=(CELL * len(COLUMNS), total))
    axes = figure.subplots(len(views), len(COLUMNS), squeeze=False)
    for column, title in zip(axes[0], COLUMNS):
        column.set_title(title)
    for row, view in zip(axes, views):
        _draw_row(row, view, dataset)
    new = ', '.join(dataset.metainfo['new'])
    figure.suptitle(
        f'{dataset.task.name} {dataset.setting}, step {dataset.step}, '
        + shorten(f'new: {new}', 100, placeholder=' ...')
    )
    figure.tight_layout(rect=(0, 0, 1, 0.99))
    figure.savefig(path, dpi=100)


def _draw_row(
    row: Sequence[Axes], view: dict, dataset: ContinualDataset
) -> None:
    """Draw the views of one sample into the axes of a row."""
    row[0].imshow(view['img'][..., ::-1])
    row[0].set_xlabel(view['img_path'].rsplit('/', 1)[-1], fontsize=8)
    row[1].imshow(view['img_erased'][..., ::-1])
    ids = np.full(256, IGNORE_INDEX)
    ids[list(dataset.class_ids)] = list(dataset.class_ids.values())
    _draw_mask(
        row[2],
        ids[view['gt_raw_map']],
        dataset.all_classes,
        dataset.all_colors,
    )
    meta = dataset.metainfo
    _draw_mask(row[3], view['gt_seg_map'], meta['classes'], meta['palette'])
    for axes in row:
        axes.set(xticks=[], yticks=[])


def _draw_mask(
    axes: Axes,
    mask: np.ndarray,
    names: Sequence[str],
    colors: Sequence[Sequence[int]],
) -> None:
    """Color a mask and name what is in it below.

    Args:
        axes: Where to draw.
        mask: ``(H, W)`` uint8.
        names: K names.
        colors: K colors.
    """
    table = np.full((256, 3), VOID_COLOR, np.uint8)
    table[: len(colors)] = colors
    axes.imshow(table[mask], interpolation='nearest')
    by_label = {IGNORE_INDEX: 'void', **dict(enumerate(names))}
    handles = [
        Patch(facecolor=table[i] / 255, edgecolor='gray', label=by_label[i])
        for i in np.unique(mask).tolist()
    ]
    axes.legend(
        handles=handles,
        loc='upper center',
        bbox_to_anchor=(0.5, 0),
        ncols=3,
        fontsize=7,
        frameon=False,
        handlelength=1,
        columnspacing=1,
    )
