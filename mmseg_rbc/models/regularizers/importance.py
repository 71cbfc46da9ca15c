"""The importance of all weights of a network, by a regularizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from mmseg_rbc.models.classifier import is_classifier

from .base import Regularizer, Tensors, with_new_rows

# Values of a weight that are gathered and penalized at once: a MB of each.
PIECE = 2**18


def penalty(theta: Tensor, old: Tensor, strength: Tensor) -> Tensor:
    """Return ``sum F^ (theta - theta_old)^2``."""
    return (strength * (theta - old).square()).sum()


def add_penalty_gradient(
    gradient: Tensor,
    theta: Tensor,
    old: Tensor,
    strength: Tensor,
    weight: float = 1.0,
) -> None:
    """Add w times the gradient of :func:`penalty`, in place."""
    gradient.addcmul_(strength, theta - old, value=2 * weight)


def pieces(*tensors: Tensor) -> Iterable[tuple[Tensor, ...]]:
    """Return some rows of tensors of one shape after the other.

    All weights are read in every iteration, however small its batch; a piece
    stays in the cache of a CPU meanwhile.
    """
    first = tensors[0]
    if not first.is_cpu or first.numel() <= PIECE:
        return [tensors]
    rows = max(1, PIECE // first[0].numel())
    return zip(*(tensor.split(rows) for tensor in tensors))


class ImportanceState:
    """The importance of all weights of a network during one step.

    Args:
        regularizer: EWC, PI, RW, or your own.
        weights: Named weights at the start of the step.
        num_seen: Classes of the network.
        previous: What :meth:`end` returned in the previous step.
        old_weights: The weights of the previous step.
    """

    def __init__(
        self,
        regularizer: Regularizer,
        weights: Mapping[str, Tensor],
        num_seen: int,
        previous: Mapping[str, Any] | None = None,
        old_weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.regularizer = regularizer
        self.count = 0
        self.previous: dict[str, Tensors] = {}
        blocks = []
        if previous is not None:
            self.previous, blocks = previous['tensors'], previous['blocks']
        self.blocks = [*blocks, num_seen - sum(blocks)]
        self.gathered = {
            name: regularizer.begin(theta, self.previous.get(name, {}))
            for name, theta in weights.items()
        }
        # What the penalty needs: weights to stay close to, and how close.
        self.held: dict[str, tuple[Tensor, Tensor]] = {}
        for name, ended in self.previous.items():
            if name not in weights or old_weights is None:
                continue
            theta, rows = (
                weights[name],
                blocks if is_classifier(name) else None,
            )
            strength = regularizer.strength(ended, rows)
            self.held[name] = (
                with_new_rows(old_weights[name], theta),
                with_new_rows(strength, torch.zeros_like(theta)),
            )

    def update(
        self, weights: Mapping[str, Tensor], gradients: Mapping[str, Tensor]
    ) -> None:
        """Gather one iteration, then add the penalty's gradient, in place.

        Args:
            weights: By their names.
            gradients: Of the task; a weight may have none.
        """
        for name, gradient in gradients.items():
            gathered, held = self.gathered[name], self.held.get(name, ())
            tensors = gradient, weights[name], *held, *gathered.values()
            for g, theta, *others in pieces(*tensors):
                values = dict(zip(gathered, others[len(held) :]))
                self.regularizer.update(values, theta, g, self.count)
                if held:
                    old, strength = others[: len(held)]
                    weight = self.regularizer.weight
                    add_penalty_gradient(g, theta, old, strength, weight)
        self.count += 1

    def penalty(self, weights: Mapping[str, Tensor]) -> Tensor:
        """Return ``w sum F^ (theta - theta_old)^2`` over all weights."""
        terms = [penalty(weights[n], *held) for n, held in self.held.items()]
        total = torch.stack(terms).sum() if terms else torch.zeros(())
        return self.regularizer.weight * total

    def end(self, weights: Mapping[str, Tensor]) -> dict[str, Any]:
        """Return what the next step needs."""
        tensors = {
            name: self.regularizer.end(
                gathered, weights[name], self._previous_of(name, weights)
            )
            for name, gathered in self.gathered.items()
        }
        # Of parts that were frozen in this step it stays as it is.
        tensors = {**self.previous, **tensors}
        name = type(self.regularizer).__name__
        return dict(regularizer=name, blocks=self.blocks, tensors=tensors)

    def _previous_of(
        self, name: str, weights: Mapping[str, Tensor]
    ) -> Tensors:
        tensors = self.previous.get(name, {})
        return {k: v.to(weights[name]) for k, v in tensors.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return dict(count=self.count, gathered=self.gathered)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a run was stopped."""
        self.count = state['count']
        for name, tensors in state['gathered'].items():
            for key, value in tensors.items():
                self.gathered[name][key].copy_(value)
