"""Transforms of continual data."""

from .crop import CenterCropShortSide, RandomResizedCrop
from .erase import NewClassErase
from .formatting import PackDupletInputs
from .loading import LoadContinualAnnotations

__all__ = [
    'CenterCropShortSide',
    'LoadContinualAnnotations',
    'NewClassErase',
    'PackDupletInputs',
    'RandomResizedCrop',
]
