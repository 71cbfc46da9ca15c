"""Load and remap the mask of a continual step."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

import cv2
import mmengine.fileio as fileio
import numpy as np
from mmseg.datasets.transforms import LoadAnnotations
from mmseg.registry import TRANSFORMS

from mmseg_rbc.datasets.classes import unknown_label_sentence
from mmseg_rbc.datasets.masks import Palette, read_mask

# No class has this label; see tasks.MAX_CLASSES.
UNKNOWN = 254


@TRANSFORMS.register_module()
class LoadContinualAnnotations(LoadAnnotations):
    """Load a mask and map its values by one table look-up.

    The stock ``LoadAnnotations`` gives the same labels, with one pass over
    the mask per class and without the checks: a mask of another size than its
    image, of several channels or with an unknown value raises. An image
    without a mask, as in inference, passes.

    Required Keys:

    - seg_map_path (optional)
    - label_map
    - ori_shape (optional)
    - mask_palette (optional)

    Added Keys:

    - gt_seg_map (np.uint8)
    - gt_raw_map (np.uint8, with ``keep_raw``)

    Modified Keys:

    - seg_fields

    Args:
        keep_raw: Whether to keep the values before mapping as well; later
            transforms treat both maps alike.
        kwargs: See ``LoadAnnotations``.
    """

    def __init__(self, keep_raw: bool = False, **kwargs) -> None:
        super().__init__(**kwargs)
        self.keep_raw = keep_raw

    def _load_seg_map(self, results: dict) -> None:
        if 'seg_map_path' not in results:
            return
        palette = results.get('mask_palette')
        raw = self._read_mask(results['seg_map_path'], palette)
        self._check_size(raw, results)
        fields = {'gt_seg_map': self._remap(raw, results)}
        if self.keep_raw:
            fields['gt_raw_map'] = raw
        results.update(fields)
        results['seg_fields'].extend(fields)

    def _read_mask(self, path: str, palette: Palette | None) -> np.ndarray:
        """Return the ``(H, W)`` uint8 values of a mask file."""
        data = fileio.get(path, backend_args=self.backend_args)
        return read_mask(BytesIO(data), path, palette)

    @staticmethod
    def _check_size(mask: np.ndarray, results: dict) -> None:
        size = results.get('ori_shape', mask.shape)[:2]
        if mask.shape != tuple(size):
            raise ValueError(
                f'mask {results["seg_map_path"]} has {mask.shape[0]} x '
                f'{mask.shape[1]} pixels, but its image '
                f'{results.get("img_path")} has {size[0]} x {size[1]}: they '
                'must agree'
            )

    @staticmethod
    def _remap(mask: np.ndarray, results: dict) -> np.ndarray:
        label_map = results['label_map']
        labels = cv2.LUT(mask, label_table(label_map))
        if (labels == UNKNOWN).any():
            found = np.unique(mask[labels == UNKNOWN]).tolist()
            raise ValueError(
                unknown_label_sentence(
                    results['seg_map_path'], found, list(label_map)
                )
            )
        return labels


def label_table(label_map: Mapping[int, int]) -> np.ndarray:
    """Return a label map as a table.

    Returns:
        ``(256,)`` uint8: the label of every value, :data:`UNKNOWN` without
        one.
    """
    table = np.full(256, UNKNOWN, np.uint8)
    table[list(label_map)] = list(label_map.values())
    return table
