"""The data side: duplets, remapping and the class index."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from glob import glob

import cv2
import numpy as np
from measure import Figure, in_turns, ratio
from mmengine.dataset import pseudo_collate
from mmseg.registry import DATASETS, MODELS

from mmseg_rbc.datasets.class_index import (
    load_class_index,
    shipped_class_index,
    shipped_names,
)
from mmseg_rbc.datasets.shapes import CLASSES, make_shapes
from mmseg_rbc.datasets.transforms.loading import label_table
from mmseg_rbc.tasks import Task

SIZE = 512
BATCH = 12


def data_figures(quick: bool) -> Iterator[Figure]:
    """Measure remapping, pipelines and class index."""
    yield remap_figure()
    with tempfile.TemporaryDirectory() as root:
        # As large as the photographs of VOC.
        make_shapes(root, 60 if quick else 240, 0, (375, 500))
        yield from pipeline_figures(root, 5 if quick else 15)
        masks = os.path.join(root, 'SegmentationClassAug', '*.png')
        yield from index_figures(sorted(glob(masks)))


def remap_figure() -> Figure:
    """Compare the table with a mapping of every pixel in Python."""
    label_map = Task.parse('15-1', 21).train_label_map(1)
    mask = np.random.default_rng(0).integers(0, 21, (SIZE, SIZE), np.uint8)

    def by_table() -> np.ndarray:
        return cv2.LUT(mask, label_table(label_map))

    def by_pixel() -> np.ndarray:
        mapped = [label_map[value] for value in mask.ravel().tolist()]
        return np.array(mapped, np.uint8).reshape(mask.shape)

    assert np.array_equal(by_table(), by_pixel())
    times = in_turns(dict(table=by_table, pixel=by_pixel), 9, 2)
    what = 'label remap: pixel by pixel / table'
    return ratio('data', what, times['pixel'], times['table'])


def build_dataset(root: str, transforms: Sequence[dict]):
    """Build step 1 of 15-5 on shapes with the published crop."""
    return DATASETS.build(
        dict(
            type='ContinualDataset',
            data_root=root,
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClassAug'
            ),
            ann_file='ImageSets/Segmentation/trainaug.txt',
            metainfo=dict(classes=CLASSES),
            task='15-5',
            step=1,
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='LoadContinualAnnotations'),
                dict(type='RandomResizedCrop', crop_size=(SIZE, SIZE)),
                dict(type='RandomFlip', prob=0.5),
                *transforms,
                dict(type='PackDupletInputs'),
            ],
        )
    )


def pipeline_figures(root: str, repeats: int) -> Iterator[Figure]:
    """Compare images a second with and without their erased views."""
    preprocess = MODELS.build(
        dict(
            type='DupletDataPreProcessor',
            mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375],
            bgr_to_rgb=True,
            size=(SIZE, SIZE),
        )
    )

    def load(dataset, prepare: bool) -> Callable[[], object]:
        def batch() -> object:
            items = [dataset[i % len(dataset)] for i in range(BATCH)]
            return prepare and preprocess(pseudo_collate(items), True)

        return batch

    plain = build_dataset(root, [])
    duplets = build_dataset(root, [dict(type='NewClassErase')])
    functions = dict(
        plain=load(plain, False),
        duplets=load(duplets, False),
        plain_batch=load(plain, True),
        duplet_batch=load(duplets, True),
    )
    times = in_turns(functions, repeats)
    speed = BATCH / float(np.median(times['plain']))
    yield Figure('data', f'plain pipeline, {SIZE} px', speed, unit='images/s')
    what = 'images a second of the duplet pipeline / the plain one'
    yield ratio('data', what, times['plain'], times['duplets'], '>= 0.85')
    what = 'the same with the preprocessor, which then has twice the images'
    yield ratio('data', what, times['plain_batch'], times['duplet_batch'])


def index_figures(masks: Sequence[str]) -> Iterator[Figure]:
    """Compare a scan of masks with its cache and with the shipped index."""

    def seconds(function: Callable[[], object]) -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    names = shipped_names('trainaug')
    cold = seconds(lambda: load_class_index(masks, 1)) / len(masks)
    cached = seconds(lambda: load_class_index(masks, 1)) / len(masks)
    shipped = seconds(lambda: shipped_class_index(names)) / len(names)
    for what, value in (('cached', cached), ('shipped', shipped)):
        text = f'class index of a mask: cold scan / {what}'
        yield Figure('data', text, cold / value)
