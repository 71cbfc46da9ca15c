"""The crops of the published code (MiB, PLOP and RBC share them)."""

from __future__ import annotations

import math

import mmcv
import numpy as np
from mmcv.transforms import BaseTransform
from mmcv.transforms.utils import cache_randomness
from mmseg.registry import TRANSFORMS

Box = tuple[int, int, int, int]


def _crop_and_resize(results: dict, box: Box, size: tuple[int, int]) -> None:
    """Crop image and label maps to a box, then stretch them.

    Args:
        results: Result dict with ``img`` and ``seg_fields``.
        box: Top, left, height and width.
        size: Height and width to stretch to.
    """
    top, left, height, width = box
    for key in ('img', *results.get('seg_fields', [])):
        crop = results[key][top : top + height, left : left + width]
        how = 'bilinear' if key == 'img' else 'nearest'
        results[key] = mmcv.imresize(crop, size[::-1], interpolation=how)
    results['img_shape'] = size


@TRANSFORMS.register_module()
class RandomResizedCrop(BaseTransform):
    """Crop a random area of random shape and stretch it.

    Area and aspect ratio (log-uniform) are drawn up to ``tries`` times until
    the crop fits into the image; after that the largest central crop with an
    allowed aspect ratio is taken. Nothing is ever padded.

    Required Keys:

    - img
    - seg_fields (optional)

    Modified Keys:

    - img
    - img_shape
    - the maps of seg_fields

    Args:
        crop_size: Height and width of the result.
        area_range: Area of the crop, as a share of the image's. A share
            above 1 never fits, so half of the draws of the published
            ``(0.5, 2.0)`` or more are repeated.
        ratio_range: Width over height of the crop.
        tries: Number of draws.
    """

    def __init__(
        self,
        crop_size: tuple[int, int],
        area_range: tuple[float, float] = (0.5, 2.0),
        ratio_range: tuple[float, float] = (3 / 4, 4 / 3),
        tries: int = 10,
    ) -> None:
        self.crop_size = (crop_size[0], crop_size[1])
        self.area_range = area_range
        self.ratio_range = ratio_range
        self.tries = tries

    @cache_randomness
    def _random_box(self, image_height: int, image_width: int) -> Box:
        log_ratios = np.log(self.ratio_range)
        for _ in range(self.tries):
            area = np.random.uniform(*self.area_range)
            area *= image_height * image_width
            ratio = math.exp(np.random.uniform(*log_ratios))
            width = round(math.sqrt(area * ratio))
            height = round(math.sqrt(area / ratio))
            if 0 < width <= image_width and 0 < height <= image_height:
                top = np.random.randint(image_height - height + 1)
                left = np.random.randint(image_width - width + 1)
                return top, left, height, width
        return central_box(image_height, image_width, self.ratio_range)

    def transform(self, results: dict) -> dict:
        """Crop the image and its label maps."""
        box = self._random_box(*results['img'].shape[:2])
        _crop_and_resize(results, box, self.crop_size)
        return results

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(crop_size={self.crop_size}, '
            f'area_range={self.area_range}, ratio_range={self.ratio_range}, '
            f'tries={self.tries})'
        )


def central_box(
    height: int, width: int, ratio_range: tuple[float, float]
) -> Box:
    """Return the largest central box with an allowed aspect ratio."""
    low, high = ratio_range
    box_height, box_width = height, width
    if width / height < low:
        box_height = round(width / low)
    elif width / height > high:
        box_width = round(height * high)
    top, left = (height - box_height) // 2, (width - box_width) // 2
    return top, left, box_height, box_width


@TRANSFORMS.register_module()
class CenterCropShortSide(BaseTransform):
    """Resize the short side, then crop the center: published evaluation.

    Put it after the loading of the mask. ``ori_shape`` becomes the size of
    the crop, so that MMSeg evaluates at that size instead of the image's.
    An image without a mask, as in inference, is resized but not cropped, and
    keeps its ``ori_shape``: the prediction covers the whole image.

    Its keys are those of :class:`RandomResizedCrop`, and ``ori_shape``.

    Args:
        crop_size: Side of the square crop.
    """

    def __init__(self, crop_size: int) -> None:
        self.crop_size = crop_size

    def transform(self, results: dict) -> dict:
        """Resize and crop the image and its label maps."""
        size = self.crop_size
        height, width = results['img'].shape[:2]
        short = min(height, width)
        resized = (size * height // short, size * width // short)
        _crop_and_resize(results, (0, 0, height, width), resized)
        if not results.get('seg_fields'):
            return results
        top, left = (round((side - size) / 2) for side in resized)
        _crop_and_resize(results, (top, left, size, size), (size, size))
        results['ori_shape'] = (size, size)
        return results

    def __repr__(self) -> str:
        return f'{type(self).__name__}(crop_size={self.crop_size})'
