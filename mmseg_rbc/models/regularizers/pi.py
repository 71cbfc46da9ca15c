"""Path integral (synaptic intelligence)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mmseg.registry import TASK_UTILS
from torch import Tensor

from .base import Tensors, min_max, with_new_rows


@TASK_UTILS.register_module()
class PI:
    """Path integral (synaptic intelligence).

    ``omega += g (theta_last - theta)`` in every iteration, then
    ``Omega = max(0, omega / ((theta - theta_start)^2 + 1e-20)) + Omega_old``.

    Args:
        weight: Factor of the penalty.
    """

    def __init__(self, weight: float = 100.0) -> None:
        self.weight = weight

    def begin(self, theta: Tensor, previous: Tensors) -> Tensors:
        """Start the path where the weights are."""
        path = torch.zeros_like(theta)
        return dict(path=path, start=theta.clone(), last=theta.clone())

    def update(
        self, gathered: Tensors, theta: Tensor, gradient: Tensor, count: int
    ) -> None:
        """Go along the path."""
        moved = gathered['last'].sub_(theta)
        gathered['path'].addcmul_(gradient, moved)
        gathered['last'].copy_(theta)

    def end(
        self, gathered: Tensors, theta: Tensor, previous: Tensors
    ) -> Tensors:
        """Relate the path to the distance, and add earlier steps."""
        distance = (theta - gathered['start']).square()
        omega = (gathered['path'] / (distance + 1e-20)).clamp(min=0)
        if previous:
            earlier = torch.zeros_like(omega)
            omega = omega + with_new_rows(previous['omega'], earlier)
        return dict(omega=omega)

    def strength(self, ended: Tensors, blocks: Sequence[int] | None) -> Tensor:
        """Return ``norm(Omega)``."""
        return min_max(ended['omega'], blocks)
