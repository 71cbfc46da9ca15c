"""Models of continual segmentation."""

from . import losses, pseudo_labelers, regularizers
from .data_preprocessor import DupletDataPreProcessor
from .segmentors import IncrementalEncoderDecoder

__all__ = [
    'DupletDataPreProcessor',
    'IncrementalEncoderDecoder',
    'losses',
    'pseudo_labelers',
    'regularizers',
]
