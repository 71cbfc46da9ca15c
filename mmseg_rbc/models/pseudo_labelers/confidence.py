"""Pseudo-labels without an estimate over the training images."""

from __future__ import annotations

import torch
from mmseg.registry import MODELS
from torch import Tensor

from .base import BasePseudoLabeler


@MODELS.register_module()
class NaivePseudoLabeler(BasePseudoLabeler):
    """Accept every pixel."""

    def __init__(
        self, adaptive: bool = False, keep_labels: bool = False
    ) -> None:
        super().__init__(adaptive, keep_labels)

    def accept(self, logits: Tensor, classes: Tensor, num_seen: int) -> Tensor:
        """Accept all."""
        return torch.ones_like(classes, dtype=torch.bool)


@MODELS.register_module()
class ConfidencePseudoLabeler(BasePseudoLabeler):
    """Accept pixels whose largest probability reaches a fixed value.

    Args:
        confidence: The value.
        adaptive: See :class:`BasePseudoLabeler`.
        keep_labels: The same.
    """

    def __init__(
        self,
        confidence: float = 0.9,
        adaptive: bool = False,
        keep_labels: bool = False,
    ) -> None:
        super().__init__(adaptive, keep_labels)
        if not 0 <= confidence <= 1:
            raise ValueError(f'confidence={confidence} is not in [0, 1]')
        self.confidence = confidence

    def accept(self, logits: Tensor, classes: Tensor, num_seen: int) -> Tensor:
        """Accept by the largest probability."""
        return logits.softmax(0).amax(0) >= self.confidence
