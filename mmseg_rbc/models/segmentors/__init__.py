"""Segmentors."""

from .incremental_cascade import IncrementalCascadeEncoderDecoder
from .incremental_encoder_decoder import IncrementalEncoderDecoder

__all__ = ['IncrementalCascadeEncoderDecoder', 'IncrementalEncoderDecoder']
