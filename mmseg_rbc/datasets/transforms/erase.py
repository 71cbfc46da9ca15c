"""Erase the new classes: the second view of RBC's duplet."""

from __future__ import annotations

import cv2
import numpy as np
from mmcv.transforms import BaseTransform
from mmcv.transforms.utils import cache_randomness
from mmseg.registry import TRANSFORMS

from mmseg_rbc.tasks import IGNORE_INDEX

VOID = np.uint8(IGNORE_INDEX)
FILLS = ('black', 'mean', 'noise', 'inpaint')


@TRANSFORMS.register_module()
class NewClassErase(BaseTransform):
    """Add a view of the image without the new classes.

    Put it last before packing, so that both views are aligned. Pixels whose
    label is below ``num_old`` are kept: background, which hides old and
    future classes, stays. The others are filled, and ignored in the label of
    the erased view. In step 0 (``num_old`` is 0) there is nothing to keep, and
    the transform does nothing.

    Required Keys:

    - img (np.uint8)
    - gt_seg_map
    - num_old

    Added Keys:

    - img_erased
    - gt_erased_map
    - erased_from (the image that was erased)

    Args:
        fill: ``black`` (0 before normalization, as published), ``mean`` (mean
            color of the kept pixels), ``noise`` (uniform), or ``inpaint``
            (OpenCV's, after Telea).
        erase_void: Whether pixels without a label (255) are erased too, as in
            the released code.
        duplicate: Whether to copy image and label unerased instead: the
            "double" of the paper's table 1.
    """

    def __init__(
        self,
        fill: str = 'black',
        erase_void: bool = False,
        duplicate: bool = False,
    ) -> None:
        if fill not in FILLS:
            raise ValueError(
                f'fill={fill!r} is unknown: choose one of {", ".join(FILLS)}'
            )
        self.fill = fill
        self.erase_void = erase_void
        self.duplicate = duplicate

    def transform(self, results: dict) -> dict:
        """Add the erased view."""
        num_old = results['num_old']
        if num_old == 0:
            return results
        labels = np.ascontiguousarray(results['gt_seg_map'])
        # Channels first, as packing wants them: it then copies neither view.
        planes = np.ascontiguousarray(results['img'].transpose(2, 0, 1))
        results.update(img=planes.transpose(1, 2, 0), gt_seg_map=labels)
        if self.duplicate:
            results['img_erased'] = results['erased_from'] = results['img']
            results['gt_erased_map'] = labels
            return results
        is_new = labels >= num_old
        results['gt_erased_map'] = np.where(is_new, VOID, labels)
        if not self.erase_void:
            is_new &= labels != VOID
        erased = self._erase(planes, is_new)
        results['img_erased'] = erased.transpose(1, 2, 0)
        results['erased_from'] = results['img']
        return results

    def _erase(self, planes: np.ndarray, is_new: np.ndarray) -> np.ndarray:
        """Fill a part of an image.

        Args:
            planes: ``(3, H, W)`` uint8.
            is_new: ``(H, W)`` bool: the part to fill.
        """
        if self.fill == 'black':
            return planes * ~is_new
        if self.fill == 'noise':
            return np.where(is_new, self._noise(planes.shape), planes)
        if self.fill == 'mean':
            return np.where(is_new, mean_color(planes, ~is_new), planes)
        image = np.ascontiguousarray(planes.transpose(1, 2, 0))
        mask = is_new.astype(np.uint8)
        image = cv2.inpaint(image, mask, 3, cv2.INPAINT_TELEA)
        return np.ascontiguousarray(image.transpose(2, 0, 1))

    @cache_randomness
    def _noise(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.random.randint(0, 256, shape, np.uint8)

    def __repr__(self) -> str:
        return (
            f'{type(self).__name__}(fill={self.fill!r}, '
            f'erase_void={self.erase_void}, duplicate={self.duplicate})'
        )


def mean_color(planes: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the rounded mean of the kept pixels, black if there are none.

    Args:
        planes: ``(3, H, W)`` uint8.
        kept: ``(H, W)`` bool.

    Returns:
        ``(3, 1, 1)`` uint8.
    """
    total = planes.sum((1, 2), where=kept, keepdims=True, dtype=np.float64)
    return np.rint(total / max(kept.sum(), 1)).astype(np.uint8)
