"""Cascades of heads, such as OCRNet, for all continual methods."""

from __future__ import annotations

from mmseg.models import CascadeEncoderDecoder
from mmseg.registry import MODELS

from .incremental_encoder_decoder import IncrementalEncoderDecoder


@MODELS.register_module()
class IncrementalCascadeEncoderDecoder(
    IncrementalEncoderDecoder, CascadeEncoderDecoder
):
    """``CascadeEncoderDecoder`` that learns new classes.

    Every head of the cascade is trained with the criterion of the method; the
    losses between student and teacher see the last one.
    """
