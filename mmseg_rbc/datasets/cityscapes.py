"""Cityscapes, step by step."""

from __future__ import annotations

from typing import Any

from mmseg.datasets import CityscapesDataset
from mmseg.registry import DATASETS

from mmseg_rbc.tasks import NOT_LEARNED

from .continual import ContinualMixin

# The ids of the 19 training classes in gtFine_labelIds, in their usual order.
LABEL_IDS = (
    *(7, 8, 11, 12, 13, 17, 19, 20, 21, 22),
    *(23, 24, 25, 26, 27, 28, 31, 32, 33),
)
NUM_IDS = 34


@DATASETS.register_module()
class ContinualCityscapesDataset(ContinualMixin, CityscapesDataset):
    """Cityscapes with a continual task: 19 classes behind class 0.

    Class 0 is what is not learned yet. Masks are those that MMSeg users have,
    ``_gtFine_labelTrainIds.png``, or with another ``seg_map_suffix`` those of
    the data set, ``_gtFine_labelIds.png``: label id 0 (unlabeled) is class 0
    then, as in AWT (WACV 2023), and ids that are not trained are ignored.

    Args:
        seg_map_suffix: End of the names of masks.
        kwargs: See :class:`ContinualMixin` and ``CityscapesDataset``.
    """

    def __init__(
        self,
        *args: Any,
        seg_map_suffix: str = '_gtFine_labelTrainIds.png',
        **kwargs: Any,
    ) -> None:
        if 'labelIds' in seg_map_suffix:
            names = self.METAINFO['classes']
            ids = {0: NOT_LEARNED, **dict(zip(LABEL_IDS, names))}
            others = [i for i in range(NUM_IDS) if i not in ids]
            kwargs.setdefault('label_map', ids)
            kwargs.setdefault('ignore_values', others)
        super().__init__(*args, seg_map_suffix=seg_map_suffix, **kwargs)
