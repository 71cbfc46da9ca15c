import math

import numpy as np
import pytest
from mmseg.registry import TRANSFORMS

from mmseg_rbc.datasets.transforms.crop import central_box


def sample(height=60, width=90):
    """An image whose pixels say where they come from."""
    y, x = np.mgrid[:height, :width]
    image = np.stack([y, x, np.zeros_like(y)], -1).astype(np.uint8)
    return dict(
        img=image,
        gt_seg_map=x.astype(np.uint8),
        gt_raw_map=y.astype(np.uint8),
        seg_fields=['gt_seg_map', 'gt_raw_map'],
        img_shape=(height, width),
        ori_shape=(height, width),
    )


def test_random_crop_stays_inside_and_aligned():
    crop = TRANSFORMS.build(dict(type='RandomResizedCrop', crop_size=(48, 32)))
    np.random.seed(0)
    for _ in range(50):
        results = crop(sample())
        image = results['img'].astype(int)
        assert image.shape == (48, 32, 3) and results['img_shape'] == (48, 32)
        assert results['ori_shape'] == (60, 90)
        # Bilinear image and nearest labels agree to a pixel of the source.
        assert abs(image[..., 1] - results['gt_seg_map']).max() <= 4
        assert abs(image[..., 0] - results['gt_raw_map']).max() <= 3


def test_distribution_of_the_boxes():
    crop = TRANSFORMS.build(dict(type='RandomResizedCrop', crop_size=(8, 8)))
    np.random.seed(0)
    boxes = np.array([crop._random_box(300, 400) for _ in range(3000)])
    top, left, height, width = boxes.T
    assert (top >= 0).all() and (top + height <= 300).all()
    assert (left >= 0).all() and (left + width <= 400).all()
    assert len(set(top)) > 50 and len(set(left)) > 50
    area = height * width / (300 * 400)
    ratio = width / height
    assert area.min() > 0.49 and area.max() <= 1
    assert ratio.min() > 0.74 and ratio.max() < 1.35
    # Areas are uniform where every ratio fits: below 9 / 16 of the image.
    small = area[area < 0.5625]
    assert abs(np.median(small) - 0.53125) < 0.01
    # Log-uniform ratios are symmetric about 1 where every ratio fits.
    assert abs(np.median(np.log(ratio[area < 0.5625]))) < 0.03
    # Fitting needs area below 1 (a third of the draws at most): ten tries
    # nearly always find one, else the whole image (ratio 4/3) is taken.
    whole = ((height == 300) & (width == 400)).mean()
    assert whole < 0.2


def test_fallback_is_the_central_crop():
    crop = TRANSFORMS.build(
        dict(type='RandomResizedCrop', crop_size=(8, 8), area_range=(2, 3))
    )
    assert crop._random_box(300, 400) == (0, 0, 300, 400)
    assert crop._random_box(100, 400) == (0, 133, 100, 133)
    assert crop._random_box(400, 90) == (140, 0, 120, 90)


@pytest.mark.parametrize('height, width', [(30, 400), (400, 30), (31, 37)])
def test_central_box(height, width):
    top, left, h, w = central_box(height, width, (3 / 4, 4 / 3))
    assert 0.7 < w / h < 1.4
    assert h == height or w == width
    assert abs(2 * top + h - height) <= 1 and abs(2 * left + w - width) <= 1


@pytest.mark.parametrize('height, width', [(60, 90), (90, 60), (64, 64)])
def test_evaluation_crop(height, width):
    crop = TRANSFORMS.build(dict(type='CenterCropShortSide', crop_size=30))
    results = crop(sample(height, width))
    assert results['img'].shape == (30, 30, 3)
    assert results['ori_shape'] == results['img_shape'] == (30, 30)
    # The middle of the crop is the middle of the image, and a pixel of the
    # crop is `scale` pixels of the image.
    scale = min(height, width) / 30
    x = results['gt_seg_map'].astype(int)
    assert abs(x[15, 15] - width / 2) <= scale
    assert abs((x[15, 29] - x[15, 0]) - 29 * scale) <= scale
    assert math.isclose(results['gt_raw_map'][15, 15], height / 2, abs_tol=3)


def test_repr():
    for cfg in (
        dict(type='RandomResizedCrop', crop_size=(4, 4)),
        dict(type='CenterCropShortSide', crop_size=4),
    ):
        assert repr(TRANSFORMS.build(cfg)).startswith(cfg['type'])
