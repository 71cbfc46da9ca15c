"""ADE20K, step by step."""

from __future__ import annotations

from typing import Any

from mmseg.datasets import ADE20KDataset
from mmseg.registry import DATASETS

from .continual import ContinualMixin


@DATASETS.register_module()
class ContinualADE20KDataset(ContinualMixin, ADE20KDataset):
    """ADE20K with a continual task: 150 classes and background 0.

    Unlike stock ADE20K, label 0 ("other") is kept as background, because
    old and future classes become background in every step.
    """

    METAINFO = dict(
        classes=('background', *ADE20KDataset.METAINFO['classes']),
        palette=[[0, 0, 0], *ADE20KDataset.METAINFO['palette']],
    )

    def __init__(
        self, *args: Any, reduce_zero_label: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, reduce_zero_label=reduce_zero_label, **kwargs)
