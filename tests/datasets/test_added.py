"""Labels of new images and of stock images, by hand."""

import numpy as np
import pytest
from mmseg.registry import DATASETS
from PIL import Image
from stock_networks import CLASSES, stock_config, write_images

import mmseg_rbc  # noqa: F401

TASK = dict(
    task=[list(CLASSES), ['car']],
    metainfo=dict(classes=[*CLASSES, 'car']),
    unseen='ignore',
)
LOAD = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
]


def labels(**config) -> list:
    dataset = DATASETS.build(dict(config, **TASK, pipeline=LOAD))
    assert dataset.metainfo['classes'] == (*CLASSES, 'car')[: 3 + dataset.step]
    # Predictions have positions, as in stock MMSeg.
    assert dataset.metainfo['label_values'] == [0, 1, 2, 3][: 3 + dataset.step]
    return dataset[0]['gt_seg_map'].tolist()


@pytest.mark.parametrize(
    'step, test_mode, expected',
    [
        # Unlabeled is 0 in training; K, no class, in evaluation.
        (1, False, [0, 3, 3, 255, 255]),
        (1, True, [4, 3, 3, 255, 255]),
        (0, True, [3, 255, 255, 255, 255]),
    ],
)
def test_new_images(tmp_path, step, test_mode, expected):
    write_images(tmp_path, dict(a=np.array([[0, 7, 8, 9, 255]])))
    found = labels(
        type='AddedClassesDataset',
        data_root=str(tmp_path),
        data_prefix=dict(img_path='images', seg_map_path='masks'),
        img_suffix='.png',
        values=[['car', 7], ['car', 8]],
        void=[9],
        step=step,
        test_mode=test_mode,
    )
    assert found == [expected]


@pytest.mark.parametrize(
    'names, reduce, expected',
    [
        (CLASSES, False, [0, 1, 2, 255, 255]),
        (CLASSES, True, [255, 0, 1, 2, 255]),
        # Another order, one class that the network has not, one that is new.
        (('tree', 'moon', 'car', 'sky'), False, [2, 255, 3, 0, 255]),
    ],
)
def test_stock_images(tmp_path, names, reduce, expected):
    write_images(tmp_path, dict(a=np.array([[0, 1, 2, 3, 255]])))
    cfg = stock_config(tmp_path, reduce_zero_label=reduce)
    stock = dict(cfg.val_dataloader.dataset, metainfo=dict(classes=names))
    found = labels(type='StockDataset', stock=stock, step=1, test_mode=True)
    assert found == [expected]
    assert Image.open(tmp_path / 'masks/a.png').getpixel((1, 0)) == 1


def test_known_subset_of_a_stock_data_set(tmp_path):
    """A stock label_map is followed: classes that were left out are void."""
    write_images(tmp_path, dict(a=np.array([[0, 2, 8, 10, 255]])))
    for name in ('images', 'masks'):
        suffix = 'leftImg8bit' if name == 'images' else 'gtFine_labelTrainIds'
        (tmp_path / f'{name}/a.png').rename(
            tmp_path / f'{name}/a_{suffix}.png'
        )
    stock = dict(
        type='CityscapesDataset',
        data_root=str(tmp_path),
        data_prefix=dict(img_path='images', seg_map_path='masks'),
        metainfo=dict(classes=('sky', 'road')),
    )
    found = labels(type='StockDataset', stock=stock, step=1, test_mode=True)
    assert found == [[1, 255, 255, 0, 255]]
