"""Data of your own, step by step."""

from __future__ import annotations

from mmseg.datasets import BaseSegDataset
from mmseg.registry import DATASETS

from .continual import ContinualMixin


@DATASETS.register_module()
class ContinualDataset(ContinualMixin, BaseSegDataset):
    """Continual data of your own, with nothing to code.

    Example:
        >>> dict(
        ...     type='ContinualDataset',
        ...     data_root='data/streets',
        ...     data_prefix=dict(img_path='images', seg_map_path='masks'),
        ...     ann_file='train.txt',
        ...     metainfo=dict(classes=['sky', 'tree', 'road', 'car']),
        ...     task=[['sky', 'tree'], ['road'], ['car']],
        ...     step=1)
    """
