"""Crops of images whose pixels say where they come from."""

import numpy as np
import pytest
from mmseg.registry import TRANSFORMS

from mmseg_rbc.datasets.transforms.crop import central_box


def sample(height=60, width=90):
    """An image with row and column as colors, columns and rows as labels."""
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


def squares(crop_size: tuple[int, int]):
    """Return a transform that always cuts 36 x 36 out of 60 x 90 pixels."""
    share = 36 * 36 / (60 * 90)
    return TRANSFORMS.build(
        dict(
            type='RandomResizedCrop',
            crop_size=crop_size,
            area_range=(share, share),
            ratio_range=(1, 1),
        )
    )


def test_random_crop_cuts_image_and_labels_alike():
    """Nothing is stretched here, so the pixels are those of the image."""
    crop = squares((36, 36))
    np.random.seed(0)
    corners = set()
    for _ in range(50):
        results = crop(sample())
        top, left, _ = results['img'][0, 0].tolist()
        corners.add((top, left))
        y, x = np.mgrid[top : top + 36, left : left + 36]
        np.testing.assert_array_equal(results['img'][..., 0], y)
        np.testing.assert_array_equal(results['img'][..., 1], x)
        np.testing.assert_array_equal(results['gt_seg_map'], x)
        np.testing.assert_array_equal(results['gt_raw_map'], y)
        assert results['img_shape'] == (36, 36)
        assert results['ori_shape'] == (60, 90)
    tops, lefts = zip(*corners)
    assert len(corners) > 40
    assert min(tops) <= 2 and 22 <= max(tops) <= 24
    assert min(lefts) <= 4 and 50 <= max(lefts) <= 54


def test_random_crop_is_stretched():
    """Twice as high, half as wide: colors are mixed, labels are picked."""
    np.random.seed(0)
    results = squares((72, 18))(sample())
    left = int(results['gt_seg_map'][0, 0])
    top = int(results['gt_raw_map'][0, 0])
    rows, columns = np.arange(72), np.arange(18)
    raw = np.repeat((top + rows // 2)[:, None], 18, axis=1)
    np.testing.assert_array_equal(results['gt_raw_map'], raw)
    labels = np.repeat((left + 2 * columns)[None], 72, axis=0)
    np.testing.assert_array_equal(results['gt_seg_map'], labels)
    y = top + ((rows + 0.5) / 2 - 0.5).clip(0, 35)
    x = left + (columns + 0.5) * 2 - 0.5
    image = results['img'].astype(float)
    assert abs(image[..., 0] - y[:, None]).max() <= 0.5
    assert abs(image[..., 1] - x[None]).max() <= 0.5


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


@pytest.mark.parametrize(
    'size, box',
    [
        ((30, 400), (0, 180, 30, 40)),
        ((400, 30), (180, 0, 40, 30)),
        ((31, 37), (0, 0, 31, 37)),
        ((3, 4), (0, 0, 3, 4)),
    ],
)
def test_central_box(size, box):
    """Top, left, height, width with ratios from 3/4 to 4/3."""
    assert central_box(*size, (3 / 4, 4 / 3)) == box


@pytest.mark.parametrize(
    'height, width, top, left',
    [(60, 90, 0, 8), (90, 60, 8, 0), (64, 64, 0, 0), (15, 15, 0, 0)],
)
def test_evaluation_crop(height, width, top, left):
    """The short side becomes 30, then the middle 30 x 30 are cut out."""
    crop = TRANSFORMS.build(dict(type='CenterCropShortSide', crop_size=30))
    results = crop(sample(height, width))
    scale = min(height, width) / 30
    rows, columns = np.arange(top, top + 30), np.arange(left, left + 30)
    y, x = ((side * scale).astype(int) for side in (rows, columns))
    expected = np.broadcast_to(x, (30, 30))
    np.testing.assert_array_equal(results['gt_seg_map'], expected)
    expected = np.broadcast_to(y[:, None], (30, 30))
    np.testing.assert_array_equal(results['gt_raw_map'], expected)
    assert results['ori_shape'] == results['img_shape'] == (30, 30)
    # The center of a pixel of the crop, in pixels of the image.
    middle = ((columns + 0.5) * scale - 0.5).clip(0, width - 1)
    assert abs(results['img'][..., 1] - middle).max() < 0.75


def test_image_without_a_mask_is_not_cropped():
    crop = TRANSFORMS.build(dict(type='CenterCropShortSide', crop_size=30))
    image = sample(60, 90)['img']
    results = crop(dict(img=image, ori_shape=(60, 90), img_shape=(60, 90)))
    x = np.broadcast_to(np.arange(45) * 2 + 0.5, (30, 45))
    assert abs(results['img'][..., 1] - x).max() <= 0.5
    assert results['img_shape'] == (30, 45)
    assert results['ori_shape'] == (60, 90), 'the prediction covers it all'
