"""Models of continual segmentation."""

from .data_preprocessor import DupletDataPreProcessor

__all__ = ['DupletDataPreProcessor']
