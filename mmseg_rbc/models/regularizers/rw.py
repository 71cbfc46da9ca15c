"""Riemannian walk."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mmseg.registry import TASK_UTILS
from torch import Tensor

from .base import Tensors, min_max, with_new_rows
from .ewc import EWC


@TASK_UTILS.register_module()
class RW(EWC):
    """Riemannian walk: Fisher information and a score of the path.

    Every ``interval`` iterations, with F before its update,
    ``s += g (theta_last - theta) / (0.5 F (theta - theta_last)^2 + 1e-8)``.
    At the end ``s = max(0, s)``, averaged with the score of earlier steps
    for the weights that have one.

    Args:
        weight: Factor of the penalty.
        alpha: Share of the newest gradient in F.
        interval: Iterations between two updates of the score.
    """

    def __init__(
        self, weight: float = 100.0, alpha: float = 0.9, interval: int = 10
    ) -> None:
        super().__init__(weight, alpha)
        self.interval = interval

    def begin(self, theta: Tensor, previous: Tensors) -> Tensors:
        """Start F as EWC does, and the score at 0."""
        fisher = super().begin(theta, previous)
        return dict(fisher, score=torch.zeros_like(theta), last=theta.clone())

    def update(
        self, gathered: Tensors, theta: Tensor, gradient: Tensor, count: int
    ) -> None:
        """Update F, and now and then the score."""
        if count % self.interval == 0:
            moved = gathered['last'].sub_(theta)
            cost = moved.square().mul_(gathered['fisher']).mul_(0.5)
            gathered['score'].add_(moved.mul_(gradient).div_(cost.add_(1e-8)))
            gathered['last'].copy_(theta)
        super().update(gathered, theta, gradient, count)

    def end(
        self, gathered: Tensors, theta: Tensor, previous: Tensors
    ) -> Tensors:
        """Hand on F, and the score averaged with the previous one."""
        score = gathered['score'].clamp(min=0)
        if previous:
            # New rows have no previous score: averaged with their own.
            score = (score + with_new_rows(previous['score'], score)) / 2
        return dict(fisher=gathered['fisher'], score=score)

    def strength(self, ended: Tensors, blocks: Sequence[int] | None) -> Tensor:
        """Return ``norm(F) + norm(s)``."""
        score = min_max(ended['score'], blocks)
        return super().strength(ended, blocks) + score
