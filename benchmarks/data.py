"""Measure the data side: remapping, duplets and the scan of masks.

Every figure is a ratio of two times taken in turns in this process.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from glob import glob

import cv2
import numpy as np
from mmengine.dataset import pseudo_collate
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS, MODELS

import mmseg_rbc  # noqa: F401
from mmseg_rbc.datasets.class_index import load_class_index
from mmseg_rbc.datasets.shapes import CLASSES, make_shapes
from mmseg_rbc.datasets.transforms.loading import label_table
from mmseg_rbc.tasks import Task

SIZE = 512
BATCH = 12


def compare(
    first: Callable[[], object], second: Callable[[], object], repeats: int
) -> tuple[float, float]:
    """Return the median times of two functions, called in turns."""
    times: list[list[float]] = [[], []]
    for _ in range(repeats + 2):
        for function, row in zip((first, second), times):
            start = time.perf_counter()
            function()
            row.append(time.perf_counter() - start)
    # The first two rounds warm up caches and the allocator.
    a, b = (float(np.median(row[2:])) for row in times)
    return a, b


def benchmark_remap() -> str:
    """Compare the table with a mapping of every pixel in Python."""
    label_map = Task.parse('15-1', 21).train_label_map(1)
    mask = np.random.default_rng(0).integers(0, 21, (SIZE, SIZE), np.uint8)

    def by_table() -> np.ndarray:
        return cv2.LUT(mask, label_table(label_map))

    def by_pixel() -> np.ndarray:
        mapped = [label_map[value] for value in mask.ravel().tolist()]
        return np.array(mapped, np.uint8).reshape(mask.shape)

    assert np.array_equal(by_table(), by_pixel())
    table, pixel = compare(by_table, by_pixel, 9)
    return (
        f'remap {SIZE}x{SIZE}: table {table * 1e3:.3f} ms, pixel by pixel '
        f'{pixel * 1e3:.1f} ms, ratio 1/{pixel / table:.0f}'
    )


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


def benchmark_duplets(root: str, repeats: int) -> str:
    """Compare the time of a batch with and without its erased views."""
    preprocess = MODELS.build(
        dict(
            type='DupletDataPreProcessor',
            mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375],
            bgr_to_rgb=True,
            size=(SIZE, SIZE),
        )
    )
    plain = build_dataset(root, [])
    duplets = build_dataset(root, [dict(type='NewClassErase')])

    def load(dataset) -> Callable[[], object]:
        def batch() -> object:
            items = [dataset[i % len(dataset)] for i in range(BATCH)]
            return preprocess(pseudo_collate(items), True)

        return batch

    a, b = compare(load(plain), load(duplets), repeats)
    return (
        f'batch of {BATCH} at {SIZE}x{SIZE}: plain {a * 1e3:.1f} ms, duplets '
        f'{b * 1e3:.1f} ms, ratio {b / a:.2f}'
    )


def benchmark_scan(masks: Sequence[str]) -> str:
    """Compare a scan with reading its cache, from one and two workers."""
    lines, indices = [], []
    with tempfile.TemporaryDirectory() as folder:
        links = [os.path.join(folder, os.path.basename(m)) for m in masks]
        for mask, link in zip(masks, links):
            os.symlink(os.path.abspath(mask), link)
        for workers in (1, 2):
            start = time.perf_counter()
            scanned = load_class_index(links, workers)
            middle = time.perf_counter()
            cached = load_class_index(links, workers)
            end = time.perf_counter()
            assert np.array_equal(scanned, cached)
            indices.append(scanned)
            scan, cache = middle - start, end - middle
            lines.append(
                f'{len(masks)} masks, {workers} worker(s): scan {scan:.2f} s, '
                f'cache {cache:.3f} s, ratio {scan / cache:.1f}'
            )
            for file in glob(os.path.join(folder, '.mmseg_rbc', '*')):
                os.remove(file)
    assert np.array_equal(indices[0], indices[1])
    return '\n'.join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--masks', help='folder of masks to scan; synthetic ones by default'
    )
    parser.add_argument(
        '--repeats', type=int, default=20, help='batches to time'
    )
    args = parser.parse_args()
    init_default_scope('mmseg')
    with tempfile.TemporaryDirectory() as root:
        # As large as the photographs of VOC.
        make_shapes(root, 120, 0, (375, 500))
        folder = args.masks or os.path.join(root, 'SegmentationClassAug')
        lines = [
            benchmark_remap(),
            benchmark_duplets(root, args.repeats),
            benchmark_scan(sorted(glob(os.path.join(folder, '*.png')))),
        ]
    print('', *lines, sep='\n')


if __name__ == '__main__':
    main()
