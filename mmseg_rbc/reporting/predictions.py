"""Pictures of predictions: one overlay, or a grid of runs and steps."""

from __future__ import annotations

import math
import os
import os.path as osp
from collections.abc import Mapping, Sequence

import numpy as np
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from PIL import Image, ImageDraw

from mmseg_rbc.apis import load_network, network_config, predict
from mmseg_rbc.engine.step_config import base_datasets
from mmseg_rbc.evaluation.continual_metrics import forgetting
from mmseg_rbc.runs.run import Run
from mmseg_rbc.tasks import IGNORE_INDEX

SIDE, GAP, TEXT = 132, 6, 16


def blend(
    image: np.ndarray,
    labels: np.ndarray,
    palette: np.ndarray,
    opacity: float = 0.6,
) -> np.ndarray:
    """Put class colors over an image; background and void stay clear.

    Args:
        image: ``(H, W, 3)`` RGB.
        labels: ``(H, W)`` class indices.
        palette: ``(K, 3)`` colors.
        opacity: Of the colors.
    """
    table = np.zeros((256, 3), np.float32)
    table[: len(palette)] = palette
    share = np.full(256, opacity, np.float32)
    share[[0, IGNORE_INDEX]] = 0
    weight = share[labels][..., None]
    mixed = image * (1 - weight) + table[labels] * weight
    return mixed.round().astype(np.uint8)


def draw_overlay(
    image: np.ndarray,
    labels: np.ndarray,
    classes: Sequence[str],
    palette: np.ndarray,
    opacity: float = 0.6,
) -> Image.Image:
    """Return an image, its segmentation and a legend, side by side."""
    present = [int(c) for c in np.unique(labels) if c != IGNORE_INDEX]
    height, width = labels.shape
    legend = draw_legend(
        {classes[c]: tuple(palette[c]) for c in present}, 2 * width + GAP
    )
    canvas = Image.new(
        'RGB', (2 * width + GAP, height + GAP + legend.height), 'white'
    )
    canvas.paste(Image.fromarray(image), (0, 0))
    canvas.paste(
        Image.fromarray(blend(image, labels, palette, opacity)),
        (width + GAP, 0),
    )
    canvas.paste(legend, (0, height + GAP))
    return canvas


def draw_legend(
    colors: Mapping[str, Sequence[int]], width: int
) -> Image.Image:
    """Return colors with their names, in as many rows as needed."""
    draw = ImageDraw.Draw(Image.new('RGB', (1, 1)))
    places, x, y = [], 0, 0
    for name in colors:
        size = 18 + math.ceil(draw.textlength(name)) + 10
        if x and x + size > width:
            x, y = 0, y + TEXT
        places.append((x, y))
        x += size
    legend = Image.new('RGB', (width, y + TEXT), 'white')
    draw = ImageDraw.Draw(legend)
    for (x, y), (name, color) in zip(places, colors.items()):
        box = (x, y + 3, x + 11, y + 13)
        draw.rectangle(box, fill=tuple(map(int, color)), outline='gray')
        draw.text((x + 16, y + 2), name, fill='black')
    return legend


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
    shown = {run.name: run for run in reversed(runs) if _checkpoints(run)}
    if not shown:
        return {}
    some = max(shown.values(), key=lambda run: len(_checkpoints(run)))
    cfg = network_config(list(_checkpoints(some).values())[-1])
    dataset = _dataset(cfg)
    indices = choose_images(dataset, list(shown.values()), number)
    rows = []
    images, truths = zip(*(_load(dataset, i) for i in indices))
    # All classes of the data: Joint may know more than the others so far.
    classes = dataset.all_classes
    palette = np.array(dataset.all_colors, np.uint8)
    in_data = np.array(
        [classes.index(name) for name in dataset.metainfo['classes']], np.uint8
    )
    table = np.full(256, IGNORE_INDEX, np.uint8)
    table[: len(in_data)] = in_data
    truths = [table[truth] for truth in truths]
    predicted = {
        name: {
            step: _predict_all(path, images, classes)
            for step, path in _checkpoints(run).items()
        }
        for name, run in reversed(shown.items())
    }
    last = max(step for steps in predicted.values() for step in steps)
    seen = {0}
    for i, (image, truth) in enumerate(zip(images, truths)):
        for name, steps in predicted.items():
            cells = [
                blend(image, steps[step][i], palette, 0.75)
                if step in steps
                else None
                for step in range(last + 1)
            ]
            seen.update(*(np.unique(s[i]).tolist() for s in steps.values()))
            rows.append(
                (name, [image, blend(image, truth, palette, 0.75), *cells])
            )
        seen.update(np.unique(truth).tolist())
    columns = ['image', 'truth', *(f'step {t}' for t in range(last + 1))]
    legend = {
        classes[c]: palette[c].tolist()
        for c in sorted(seen - {0, IGNORE_INDEX})
    }
    os.makedirs(out_dir, exist_ok=True)
    path = osp.join(out_dir, 'predictions.png')
    # 256 colors are enough, and a third of the bytes.
    draw_grid(columns, rows, legend).quantize(256).save(path)
    return {'Validation images, worst-forgotten classes first': path}


def draw_grid(
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[np.ndarray | None]]],
    legend: Mapping[str, Sequence[int]],
) -> Image.Image:
    """Arrange thumbnails under the names of columns and rows."""
    thumbnails = [
        (name, [_thumbnail(picture) for picture in pictures])
        for name, pictures in rows
    ]
    tops, top = [], TEXT
    for _, pictures in thumbnails:
        tops.append(top)
        top += TEXT + GAP + max(p.height for p in pictures if p)
    cell = SIDE + GAP
    width = len(columns) * cell
    names = draw_legend(legend, width)
    height = top + names.height
    canvas = Image.new('RGB', (width, height), 'white')
    draw = ImageDraw.Draw(canvas)
    for j, name in enumerate(columns):
        draw.text((j * cell + 2, 2), name, fill='black')
    for top, (name, pictures) in zip(tops, thumbnails):
        draw.text((2, top + 1), name, fill='black')
        for j, picture in enumerate(pictures):
            if picture is not None:
                canvas.paste(picture, (j * cell, top + TEXT))
    canvas.paste(names, (0, height - names.height))
    return canvas


def _thumbnail(picture: np.ndarray | None) -> Image.Image | None:
    if picture is None:
        return None
    image = Image.fromarray(picture)
    image.thumbnail((SIDE, SIDE))
    return image


def choose_images(dataset, runs: Sequence[Run], number: int) -> list[int]:
    """Return one image for each of the classes that were forgotten most."""
    lost: dict[str, list[float]] = {}
    for run in runs:
        classes, matrix, first = run.iou
        for name, value in zip(classes, forgetting(matrix, first)):
            if not math.isnan(value) and name != classes[0]:
                lost.setdefault(name, []).append(value)
    order = sorted(lost, key=lambda name: -float(np.mean(lost[name])))
    infos = [dataset.get_data_info(i) for i in range(len(dataset))]
    index = dataset.classes_of(infos)
    chosen: list[int] = []
    for name in order:
        holds = np.flatnonzero(index[:, dataset.all_classes.index(name)])
        fresh = [int(i) for i in holds if int(i) not in chosen]
        if fresh and len(chosen) < number:
            chosen.append(fresh[0])
    rest = (i for i in range(len(dataset)) if i not in chosen)
    while len(chosen) < min(number, len(dataset)):
        chosen.append(next(rest))
    return chosen


def _checkpoints(run: Run) -> dict[int, str]:
    """Return the networks of the finished steps."""
    paths = {
        step: osp.join(run.path, f'step_{step}', 'final.pth')
        for step, done in enumerate(run.metrics)
        if done
    }
    return {step: path for step, path in paths.items() if osp.isfile(path)}


def _dataset(cfg: Config):
    dataset = next(base_datasets(cfg.val_dataloader.dataset))
    # Whole images: the published crop is for numbers, not for pictures.
    pipeline = [
        transform
        for transform in dataset.pipeline
        if transform['type']
        in ('LoadImageFromFile', 'LoadContinualAnnotations')
    ]
    return DATASETS.build(dict(dataset, pipeline=pipeline))


def _load(dataset, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Return an RGB image and its labels."""
    sample = dataset[index]
    image = np.ascontiguousarray(sample['img'][..., ::-1])
    return image, sample['gt_seg_map']


def _predict_all(
    checkpoint: str, images: Sequence[np.ndarray], classes: Sequence[str]
) -> list[np.ndarray]:
    """Predict images with one network, in the class indices of the grid."""
    model = load_network(checkpoint)
    own = model.dataset_meta['classes']
    table = np.array([classes.index(name) for name in own], np.uint8)
    return [
        table[predict(model, np.ascontiguousarray(image[..., ::-1]))]
        for image in images
    ]
