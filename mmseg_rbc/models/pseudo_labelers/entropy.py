"""Pseudo-labels of PLOP: certain enough for their class."""

from __future__ import annotations

import math

from mmseg.registry import MODELS
from torch import Tensor

from .base import BasePseudoLabeler
from .thresholds import MedianThresholds, ReleasedThresholds

ESTIMATORS = dict(median=MedianThresholds, released=ReleasedThresholds)


def normalised_entropy(logits: Tensor, num_seen: int) -> Tensor:
    """Entropy of the teacher as PLOP scales it.

    ``u = -(1 / (O ln O)) sum_c p_c ln(p_c + 1e-8) / ln K``. (Divided by O as
    well as by ln O: so does the published code.)

    Args:
        logits: ``(O, ...)`` of the teacher.
        num_seen: K, the classes of the student.

    Returns:
        The shape of ``logits`` without its first dimension, not negative.
    """
    num_old = len(logits)
    p = logits.float().softmax(0)
    scale = num_old * math.log(num_old) * math.log(num_seen)
    # Adding 0 makes of -0.0 a zero whose bits sort like the others'.
    return -(p * (p + 1e-8).log_()).sum(0).div_(scale).clamp_(max=0) + 0.0


@MODELS.register_module()
class EntropyPseudoLabeler(BasePseudoLabeler):
    """Accept pixels whose entropy is below the threshold of their class.

    The thresholds are estimated once before training by
    ``PseudoThresholdHook``.

    Args:
        estimator: ``median`` (paper): the median entropy of a class;
            ``released``: what the published code computes instead.
        adaptive: See :class:`BasePseudoLabeler`.
    """

    thresholds: Tensor | None

    def __init__(
        self, estimator: str = 'median', adaptive: bool = True
    ) -> None:
        super().__init__(adaptive)
        if estimator not in ESTIMATORS:
            raise ValueError(
                f'estimator={estimator!r} is unknown: choose one of '
                f'{", ".join(ESTIMATORS)}'
            )
        self.make_estimator = ESTIMATORS[estimator]
        self.register_buffer('thresholds', None, persistent=False)

    def accept(self, logits: Tensor, classes: Tensor, num_seen: int) -> Tensor:
        """Accept by entropy."""
        if self.thresholds is None:
            raise RuntimeError(
                'the thresholds of the pseudo-labels are missing: add '
                'dict(type="PseudoThresholdHook") to custom_hooks'
            )
        entropy = normalised_entropy(logits, num_seen)
        return entropy < self.thresholds[classes]
