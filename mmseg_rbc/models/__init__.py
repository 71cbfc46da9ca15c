"""Models of continual segmentation."""

from . import losses, pseudo_labelers, regularizers
from .data_preprocessor import DupletDataPreProcessor
from .fusion import EndpointsFusion
from .segmentors import IncrementalEncoderDecoder

__all__ = [
    'DupletDataPreProcessor',
    'EndpointsFusion',
    'IncrementalEncoderDecoder',
    'losses',
    'pseudo_labelers',
    'regularizers',
]
