"""Continual data: tasks over data sets, and the transforms of a duplet."""

from . import transforms
from .continual import ContinualDataset, ContinualMixin, seed_datasets
from .continual_ade import ContinualADE20KDataset
from .continual_voc import ContinualVOCDataset

__all__ = [
    'ContinualADE20KDataset',
    'ContinualDataset',
    'ContinualMixin',
    'ContinualVOCDataset',
    'seed_datasets',
    'transforms',
]
