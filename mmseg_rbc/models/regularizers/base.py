"""What a regularizer is: it holds back the weights that mattered.

It says, for one tensor of weights theta with task gradient g, what is gathered
while a step trains, what the next step is handed, and how strongly that step
holds theta back. It depends on no Runner and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


class Regularizer(Protocol):
    """What :class:`ImportanceState` asks of EWC, PI and RW."""

    weight: float

    def begin(self, theta: Tensor, previous: Tensors) -> Tensors:
        """Return what is gathered, before the first iteration.

        Args:
            theta: The weights at the start of the step.
            previous: What :meth:`end` of the previous step returned, empty
                without one; with fewer rows where the classifier grew.
        """

    def update(
        self, gathered: Tensors, theta: Tensor, gradient: Tensor, count: int
    ) -> None:
        """Gather after the backward pass of an iteration, in place.

        A large tensor comes in pieces, some rows at a time.

        Args:
            gathered: What was gathered before; of the regularizer alone.
            theta: The weights that the gradient belongs to.
            gradient: g, of the task alone.
            count: Number of updates before this one.
        """

    def end(
        self, gathered: Tensors, theta: Tensor, previous: Tensors
    ) -> Tensors:
        """Return what the next step is handed."""

    def strength(self, ended: Tensors, blocks: Sequence[int] | None) -> Tensor:
        """Return the normalized importance, for the penalty.

        Args:
            ended: What :meth:`end` returned.
            blocks: See :func:`min_max`.
        """


def min_max(values: Tensor, blocks: Sequence[int] | None = None) -> Tensor:
    """Return ``(v - min) / (max - min + 1e-8)``.

    Args:
        values: Any shape.
        blocks: Numbers of rows that are normalized by themselves, one for
            each step that a classifier grew in.
    """
    if blocks is not None:
        parts = values.split(list(blocks))
        return torch.cat([min_max(part) for part in parts])
    low, high = values.aminmax()
    return (values - low) / (high - low + 1e-8)


def with_new_rows(old: Tensor, fresh: Tensor) -> Tensor:
    """Return ``fresh`` with its first rows replaced by the old ones."""
    # Of the memory format of the fresh ones, and nobody else's memory.
    rows = fresh.clone()
    (rows[: len(old)] if rows.dim() else rows).copy_(old)
    return rows
