"""How much each weight matters for what was learnt: EWC, PI and RW.

An estimator says, for one tensor of weights theta with task gradient g, what
is gathered while a step trains, what goes on to the next step, and how
strongly that step holds theta back. It knows no Runner.
:class:`ImportanceState` applies an estimator to all weights of a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from mmseg.registry import TASK_UTILS
from torch import Tensor

from mmseg_rbc.models.classifier import is_classifier

Tensors = dict[str, Tensor]


class Estimator(Protocol):
    """What :class:`ImportanceState` asks of an estimator."""

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
    ) -> Tensors:
        """Return what is gathered after the backward pass of an iteration.

        Args:
            gathered: The same before.
            theta: The weights that the gradient belongs to.
            gradient: g, of the task alone.
            count: Number of updates before this one.
        """

    def end(
        self, gathered: Tensors, theta: Tensor, previous: Tensors
    ) -> Tensors:
        """Return what goes on to the next step."""

    def strength(self, ended: Tensors, blocks: Sequence[int] | None) -> Tensor:
        """Return the normalised importance, for the penalty.

        Args:
            ended: What :meth:`end` returned.
            blocks: See :func:`min_max`.
        """


def fisher_average(fisher: Tensor, gradient: Tensor, alpha: float) -> Tensor:
    """Return ``alpha g^2 + (1 - alpha) F``."""
    return torch.lerp(fisher, gradient.square(), alpha)


def min_max(values: Tensor, blocks: Sequence[int] | None = None) -> Tensor:
    """Return ``(v - min) / (max - min + 1e-8)``.

    Args:
        values: Any shape.
        blocks: Numbers of rows that are normalised by themselves, one for
            each step that a classifier grew in.
    """
    if blocks is not None:
        parts = values.split(list(blocks))
        return torch.cat([min_max(part) for part in parts])
    low, high = values.aminmax()
    return (values - low) / (high - low + 1e-8)


def penalty(theta: Tensor, old: Tensor, strength: Tensor) -> Tensor:
    """Return ``sum F^ (theta - theta_old)^2``."""
    return (strength * (theta - old).square()).sum()


def penalty_gradient(theta: Tensor, old: Tensor, strength: Tensor) -> Tensor:
    """Return the gradient of :func:`penalty`."""
    return 2 * strength * (theta - old)


def with_new_rows(old: Tensor, fresh: Tensor) -> Tensor:
    """Return ``fresh`` with its first rows replaced by the old ones."""
    if old.shape == fresh.shape:
        return old.to(fresh)
    return torch.cat([old.to(fresh), fresh[len(old) :]])


@TASK_UTILS.register_module()
class EWC:
    """Elastic weight consolidation: a running Fisher information.

    ``F <- alpha g^2 + (1 - alpha) F``, which starts at 1, goes on from step
    to step, and is normalised only for the penalty.

    Args:
        weight: Factor of the penalty.
        alpha: Share of the newest gradient.
    """

    def __init__(self, weight: float = 100.0, alpha: float = 0.9) -> None:
        self.weight = weight
        self.alpha = alpha

    def begin(self, theta: Tensor, previous: Tensors) -> Tensors:
        """Start at 1, or go on."""
        fisher = torch.ones_like(theta)
        if previous:
            fisher = with_new_rows(previous['fisher'], fisher)
        return dict(fisher=fisher)

    def update(
        self, gathered: Tensors, theta: Tensor, gradient: Tensor, count: int
    ) -> Tensors:
        """Average the squared gradients."""
        fisher = fisher_average(gathered['fisher'], gradient, self.alpha)
        return dict(fisher=fisher)

    def end(
        self, gathered: Tensors, theta: Tensor, previous: Tensors
    ) -> Tensors:
        """Hand on F as it is."""
        return gathered

    def strength(self, ended: Tensors, blocks: Sequence[int] | None) -> Tensor:
        """Return ``norm(F)``."""
        return min_max(ended['fisher'], blocks)


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
        theta = theta.clone()
        return dict(path=torch.zeros_like(theta), start=theta, last=theta)

    def update(
        self, gathered: Tensors, theta: Tensor, gradient: Tensor, count: int
    ) -> Tensors:
        """Go along the path."""
        moved = gathered['last'] - theta
        path = gathered['path'] + gradient * moved
        return dict(gathered, path=path, last=theta.clone())

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
    ) -> Tensors:
        """Update F, and now and then the score."""
        updated = dict(gathered)
        if count % self.interval == 0:
            moved = gathered['last'] - theta
            cost = 0.5 * gathered['fisher'] * moved.square() + 1e-8
            updated['score'] = gathered['score'] + gradient * moved / cost
            updated['last'] = theta.clone()
        updated.update(super().update(gathered, theta, gradient, count))
        return updated

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


class ImportanceState:
    """The importance of all weights of a network during one step.

    Args:
        estimator: EWC, PI, RW, or your own.
        weights: Named weights at the start of the step.
        num_seen: Classes of the network.
        previous: What :meth:`end` returned in the previous step.
        old_weights: The weights of the previous step.
    """

    def __init__(
        self,
        estimator: Estimator,
        weights: Mapping[str, Tensor],
        num_seen: int,
        previous: Mapping[str, Any] | None = None,
        old_weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.estimator = estimator
        self.count = 0
        self.previous: dict[str, Tensors] = {}
        blocks = []
        if previous is not None:
            self.previous, blocks = previous['tensors'], previous['blocks']
        self.blocks = [*blocks, num_seen - sum(blocks)]
        self.gathered = {
            name: estimator.begin(theta, self.previous.get(name, {}))
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
            strength = estimator.strength(ended, rows)
            self.held[name] = (
                with_new_rows(old_weights[name], theta.clone()),
                with_new_rows(strength, torch.zeros_like(theta)),
            )

    def update(
        self, weights: Mapping[str, Tensor], gradients: Mapping[str, Tensor]
    ) -> None:
        """Gather one iteration; a weight may have no gradient."""
        for name, gradient in gradients.items():
            self.gathered[name] = self.estimator.update(
                self.gathered[name], weights[name], gradient, self.count
            )
        self.count += 1

    def penalty(self, weights: Mapping[str, Tensor]) -> Tensor:
        """Return ``w sum F^ (theta - theta_old)^2`` over all weights."""
        terms = [penalty(weights[n], *held) for n, held in self.held.items()]
        total = torch.stack(terms).sum() if terms else torch.zeros(())
        return self.estimator.weight * total

    def add_penalty_gradient(
        self, weights: Mapping[str, Tensor], gradients: Mapping[str, Tensor]
    ) -> None:
        """Add the gradient of :meth:`penalty` to gradients, in place."""
        for name, held in self.held.items():
            if name in gradients:
                gradients[name].add_(
                    penalty_gradient(weights[name], *held),
                    alpha=self.estimator.weight,
                )

    def end(self, weights: Mapping[str, Tensor]) -> dict[str, Any]:
        """Return what the next step needs."""
        tensors = {
            name: self.estimator.end(
                gathered, weights[name], self._previous_of(name, weights)
            )
            for name, gathered in self.gathered.items()
        }
        name = type(self.estimator).__name__
        return dict(estimator=name, blocks=self.blocks, tensors=tensors)

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
        self.gathered = {
            name: {k: v.to(self.gathered[name][k]) for k, v in tensors.items()}
            for name, tensors in state['gathered'].items()
        }
