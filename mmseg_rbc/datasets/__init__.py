"""Continual data: tasks over data sets, and the transforms of a duplet."""

from . import transforms
from .added import AddedClassesDataset, StockDataset
from .ade import ContinualADE20KDataset
from .continual import ContinualMixin
from .draws import DrawDataset, DrawSampler, share_batch, with_draws
from .own import ContinualDataset
from .voc import ContinualVOCDataset
from .wrappers import base_datasets

__all__ = [
    'AddedClassesDataset',
    'ContinualADE20KDataset',
    'ContinualDataset',
    'ContinualMixin',
    'ContinualVOCDataset',
    'DrawDataset',
    'DrawSampler',
    'StockDataset',
    'base_datasets',
    'share_batch',
    'transforms',
    'with_draws',
]
