"""Continual data: tasks over data sets, and the transforms of a duplet."""

from . import transforms
from .added import AddedClassesDataset, StockDataset
from .ade import ContinualADE20KDataset
from .cityscapes import ContinualCityscapesDataset
from .continual import ContinualMixin
from .draws import DrawDataset, DrawSampler, share_batch, with_draws
from .memory import MemoryDataset, with_memory
from .memory_sampler import MemorySampler
from .own import ContinualDataset
from .voc import ContinualVOCDataset
from .wrappers import base_datasets

__all__ = [
    'AddedClassesDataset',
    'ContinualADE20KDataset',
    'ContinualCityscapesDataset',
    'ContinualDataset',
    'ContinualMixin',
    'ContinualVOCDataset',
    'DrawDataset',
    'DrawSampler',
    'MemoryDataset',
    'MemorySampler',
    'StockDataset',
    'base_datasets',
    'share_batch',
    'transforms',
    'with_draws',
    'with_memory',
]
