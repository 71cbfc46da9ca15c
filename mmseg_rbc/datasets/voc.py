"""PASCAL VOC 2012, step by step."""

from __future__ import annotations

import os.path as osp
from typing import Any

import numpy as np
from mmseg.datasets import PascalVOCDataset
from mmseg.registry import DATASETS

from mmseg_rbc.utils.files import missing_files

from .class_index import shipped_class_index
from .continual import ContinualMixin


@DATASETS.register_module()
class ContinualVOCDataset(ContinualMixin, PascalVOCDataset):
    """PASCAL VOC 2012 with a continual task.

    The split of VOC images needs no scan: their class index ships with the
    package. Data in VOC layout with other image names is scanned once.

    Two layouts of the masks work: one ``SegmentationClassAug`` folder with
    all masks, or the one that MMSeg's ``voc_aug.py`` converter makes, where
    ``SegmentationClassAug`` lacks images of ``SegmentationClass``. In the
    second one the fine masks of ``SegmentationClass`` win where both exist,
    as in MMSeg's own config.

    Args:
        use_shipped_index: Whether to trust the shipped index for VOC image
            names; switch it off for masks that you have changed.
        kwargs: See :class:`ContinualMixin` and ``PascalVOCDataset``.
    """

    FINE_FOLDER = 'SegmentationClass'

    def __init__(
        self, *args: Any, use_shipped_index: bool = True, **kwargs: Any
    ) -> None:
        self.use_shipped_index = use_shipped_index
        super().__init__(*args, **kwargs)

    def class_index(self, infos: list[dict]) -> np.ndarray:
        """Return the shipped index, or scan where it does not apply."""
        if self.use_shipped_index:
            index = shipped_class_index(self._names(infos))
            if index is not None:
                return index
        return super().class_index(infos)

    def _find_masks(self, infos: list[dict]) -> None:
        paths = [info['seg_map_path'] for info in infos]
        if not missing_files(paths):
            return
        folder = osp.dirname(self.data_prefix['seg_map_path'].rstrip('/'))
        fine = osp.join(folder, self.FINE_FOLDER)
        fine_paths = [osp.join(fine, osp.basename(path)) for path in paths]
        absent = set(missing_files(fine_paths))
        for info, path in zip(infos, fine_paths):
            if path not in absent:
                info['seg_map_path'] = path
        super()._find_masks(infos)
