"""Segmentors."""

from .incremental_encoder_decoder import IncrementalEncoderDecoder

__all__ = ['IncrementalEncoderDecoder']
