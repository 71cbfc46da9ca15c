"""Elastic weight consolidation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mmseg.registry import TASK_UTILS
from torch import Tensor

from .base import Tensors, min_max, with_new_rows


@TASK_UTILS.register_module()
class EWC:
    """Elastic weight consolidation: a running Fisher information.

    ``F <- alpha g^2 + (1 - alpha) F``, which starts at 1, is kept from step
    to step, and is normalized only for the penalty.

    Args:
        weight: Factor of the penalty.
        alpha: Share of the newest gradient.
    """

    def __init__(self, weight: float = 100.0, alpha: float = 0.9) -> None:
        self.weight = weight
        self.alpha = alpha

    def begin(self, theta: Tensor, previous: Tensors) -> Tensors:
        """Start at 1, or where the previous step ended."""
        fisher = torch.ones_like(theta)
        if previous:
            fisher = with_new_rows(previous['fisher'], fisher)
        return dict(fisher=fisher)

    def update(
        self, gathered: Tensors, theta: Tensor, gradient: Tensor, count: int
    ) -> None:
        """Average the squared gradients."""
        fisher = gathered['fisher'].mul_(1 - self.alpha)
        fisher.addcmul_(gradient, gradient, value=self.alpha)

    def end(
        self, gathered: Tensors, theta: Tensor, previous: Tensors
    ) -> Tensors:
        """Hand on F as it is."""
        return gathered

    def strength(self, ended: Tensors, blocks: Sequence[int] | None) -> Tensor:
        """Return ``norm(F)``."""
        return min_max(ended['fisher'], blocks)
