"""A picture of predictions: the same images, by each run and step."""

from __future__ import annotations

import math
import os
import os.path as osp
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mmengine.registry import init_default_scope
from PIL import Image, ImageDraw

from mmseg_rbc.apis import build_dataset, load_network, network_config, predict
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.evaluation.continual_metrics import forgetting
from mmseg_rbc.runs.run import Run
from mmseg_rbc.tasks import IGNORE_INDEX
from mmseg_rbc.visualization.overlay import GAP, LINE, blend, draw_legend

# Longest side of a thumbnail, and width of its cell.
SIDE = 132
CELL = SIDE + GAP
OPACITY = 0.75
CAPTION = 'Validation images, worst-forgotten classes first'

# ``(H, W)`` labels of each image, by step.
Predictions = Mapping[int, Sequence[np.ndarray]]


def draw_predictions(
    runs: Sequence[Run], number: int, out_dir: str
) -> dict[str, str]:
    """Draw the same images as predicted by each run and step.

    The images show the classes that were forgotten most, worst first.

    Args:
        runs: Finished or unfinished runs; of equal names the first.
        number: How many images.
        out_dir: Folder for ``predictions.png``.

    Returns:
        Path by caption; empty if no checkpoint is there.
    """
    init_default_scope('mmseg')
    shown = {run.name: run for run in reversed(runs) if networks(run)}
    if not shown:
        return {}
    dataset = _build_dataset(list(shown.values()))
    chosen = choose_images(dataset, list(shown.values()), number)
    samples = [_load(dataset, index) for index in chosen]
    images = [image for image, _ in samples]
    # All classes of the data: Joint may know more than the others so far.
    predicted = {
        name: _predict(run, images, dataset.all_classes)
        for name, run in reversed(shown.items())
    }
    grid = _draw_samples(dataset, samples, predicted)
    os.makedirs(out_dir, exist_ok=True)
    path = osp.join(out_dir, 'predictions.png')
    # 256 colors are enough, and a third of the bytes.
    grid.quantize(256).save(path)
    return {CAPTION: path}


def networks(run: Run) -> dict[int, str]:
    """Return the checkpoints of the finished steps, by step."""
    paths = {
        step: run.folder.step(step).final
        for step, done in enumerate(run.metrics)
        if done
    }
    return {step: path for step, path in paths.items() if osp.isfile(path)}


def choose_images(dataset: Any, runs: Sequence[Run], number: int) -> list[int]:
    """Return one image for each of the classes that were forgotten most.

    Args:
        dataset: A continual data set.
        runs: The runs that forgot.
        number: How many images; where the classes are too few, or no image
            shows them, the first images fill up.

    Returns:
        Positions in the data set, worst-forgotten class first.
    """
    infos = [dataset.get_data_info(i) for i in range(len(dataset))]
    index = dataset.classes_of(infos)
    chosen: list[int] = []
    for name in _most_forgotten(runs):
        holds = np.flatnonzero(index[:, dataset.all_classes.index(name)])
        chosen += [i for i in holds.tolist() if i not in chosen][:1]
    rest = [i for i in range(len(dataset)) if i not in chosen]
    return [*chosen, *rest][:number]


def _most_forgotten(runs: Sequence[Run]) -> list[str]:
    """Return the foreground classes that can be forgotten, worst first."""
    lost: dict[str, list[float]] = {}
    for run in runs:
        classes, matrix, first = run.iou
        for name, value in zip(classes, forgetting(matrix, first)):
            if not math.isnan(value) and name != classes[0]:
                lost.setdefault(name, []).append(value)
    return sorted(lost, key=lambda name: -float(np.mean(lost[name])))


def _build_dataset(runs: Sequence[Run]) -> Any:
    """Build the validation data of the run that got furthest."""
    furthest = max(map(networks, runs), key=len)
    cfg = network_config(list(furthest.values())[-1])
    dataset = next(base_datasets(cfg.val_dataloader.dataset))
    # Whole images: the crop of the evaluation is for numbers, not pictures.
    pipeline = [
        transform
        for transform in dataset.pipeline
        if transform['type']
        in ('LoadImageFromFile', 'LoadContinualAnnotations')
    ]
    return build_dataset(dict(dataset, pipeline=pipeline))


def _load(dataset: Any, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an RGB image and its labels among all classes of the data."""
    sample = dataset[index]
    names, classes = dataset.metainfo['classes'], dataset.all_classes
    truth = _translation(names, classes)[sample['gt_seg_map']]
    return np.ascontiguousarray(sample['img'][..., ::-1]), truth


def _predict(
    run: Run, images: Sequence[np.ndarray], classes: Sequence[str]
) -> Predictions:
    """Return the labels of RGB images, among these classes."""
    predicted = {}
    for step, path in networks(run).items():
        model = load_network(path)
        table = _translation(model.dataset_meta['classes'], classes)
        predicted[step] = [
            table[predict(model, np.ascontiguousarray(image[..., ::-1]))]
            for image in images
        ]
    return predicted


def _translation(names: Sequence[str], classes: Sequence[str]) -> np.ndarray:
    """Return ``(256,)`` labels among classes, by label among names."""
    table = np.full(256, IGNORE_INDEX, np.uint8)
    table[: len(names)] = [classes.index(name) for name in names]
    return table


def _draw_samples(
    dataset: Any,
    samples: Sequence[tuple[np.ndarray, np.ndarray]],
    predicted: Mapping[str, Predictions],
) -> Image.Image:
    """Draw a row for each image and run: image, truth, and every step."""
    last = max(step for found in predicted.values() for step in found)
    rows = [
        (name, image, [truth, *_labels_of_steps(found, i, last)])
        for i, (image, truth) in enumerate(samples)
        for name, found in predicted.items()
    ]
    palette = np.array(dataset.all_colors, np.uint8)
    seen = {
        label
        for _, _, cells in rows
        for labels in cells
        if labels is not None
        for label in np.unique(labels).tolist()
    }
    return draw_grid(
        ['image', 'truth', *(f'step {t}' for t in range(last + 1))],
        [
            (name, [image, *(_blend(image, x, palette) for x in cells)])
            for name, image, cells in rows
        ],
        {
            dataset.all_classes[c]: palette[c]
            for c in sorted(seen - {0, IGNORE_INDEX})
        },
    )


def _labels_of_steps(
    found: Predictions, image: int, last: int
) -> list[np.ndarray | None]:
    """Return the labels of one image in each step, None without."""
    return [
        found[step][image] if step in found else None
        for step in range(last + 1)
    ]


def _blend(
    image: np.ndarray, labels: np.ndarray | None, palette: np.ndarray
) -> np.ndarray | None:
    if labels is None:
        return None
    return blend(image, labels, palette, OPACITY)


def draw_grid(
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[np.ndarray | None]]],
    legend: Mapping[str, Sequence[int] | np.ndarray],
) -> Image.Image:
    """Arrange thumbnails under the names of columns and rows.

    Args:
        columns: Names.
        rows: Name and ``(H, W, 3)`` uint8 pictures, None for an empty cell.
        legend: RGB by name, drawn below.
    """
    strips = [_draw_head(columns)]
    strips += [_draw_row(name, pictures) for name, pictures in rows]
    strips += [draw_legend(legend, strips[0].width)]
    height = sum(strip.height for strip in strips)
    canvas = Image.new('RGB', (strips[0].width, height), 'white')
    top = 0
    for strip in strips:
        canvas.paste(strip, (0, top))
        top += strip.height
    return canvas


def _draw_head(columns: Sequence[str]) -> Image.Image:
    strip = Image.new('RGB', (len(columns) * CELL, LINE), 'white')
    draw = ImageDraw.Draw(strip)
    for j, name in enumerate(columns):
        draw.text((j * CELL + 2, 2), name, fill='black')
    return strip


def _draw_row(name: str, pictures: Sequence[np.ndarray | None]) -> Image.Image:
    thumbnails = {
        j: _thumbnail(picture)
        for j, picture in enumerate(pictures)
        if picture is not None
    }
    height = LINE + GAP + max(t.height for t in thumbnails.values())
    strip = Image.new('RGB', (len(pictures) * CELL, height), 'white')
    ImageDraw.Draw(strip).text((2, 1), name, fill='black')
    for j, thumbnail in thumbnails.items():
        strip.paste(thumbnail, (j * CELL, LINE))
    return strip


def _thumbnail(picture: np.ndarray) -> Image.Image:
    image = Image.fromarray(picture)
    image.thumbnail((SIDE, SIDE))
    return image
