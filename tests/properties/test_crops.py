"""Crops of images of any size, down to one pixel."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from mmseg.registry import TRANSFORMS
from strategies import SIDES

SIDE = st.one_of(SIDES, st.integers(1, 200))
SHARES = st.floats(0.001, 2)


def sample(height: int, width: int) -> dict:
    """An image whose color is its label: 3 rows, then 3 columns on."""
    y, x = np.mgrid[:height, :width]
    labels = ((3 * y + x) % 7 * 30).astype(np.uint8)
    return dict(
        img=np.stack([labels] * 3, -1),
        gt_seg_map=labels,
        seg_fields=['gt_seg_map'],
    )


@given(
    image=st.tuples(SIDE, SIDE),
    crop=st.tuples(SIDES, SIDES),
    shares=st.tuples(SHARES, SHARES),
)
@example(image=(1, 1), crop=(1, 1), shares=(0.01, 0.02))
def test_random_crop_of_any_image(image, crop, shares):
    transform = TRANSFORMS.build(
        dict(
            type='RandomResizedCrop',
            crop_size=crop,
            area_range=(min(shares), max(shares)),
        )
    )
    top, left, height, width = transform._random_box(*image)
    assert 0 <= top < top + height <= image[0]
    assert 0 <= left < left + width <= image[1]
    results = transform(sample(*image))
    check(results, sample(*image), crop)


@given(image=st.tuples(SIDE, SIDE), size=SIDES)
def test_evaluation_crop_of_any_image(image, size):
    transform = TRANSFORMS.build(
        dict(type='CenterCropShortSide', crop_size=size)
    )
    results = transform(sample(*image))
    check(results, sample(*image), (size, size))
    assert results['ori_shape'] == (size, size)


def check(results: dict, before: dict, size: tuple[int, int]) -> None:
    """Of the wanted size; labels are picked, colors are mixed."""
    assert results['img'].shape == (*size, 3)
    assert results['gt_seg_map'].shape == results['img_shape'] == size
    found, known = results['gt_seg_map'], before['gt_seg_map']
    assert set(found.flat) <= set(known.flat)
    assert known.min() <= results['img'].min()
    assert results['img'].max() <= known.max()
