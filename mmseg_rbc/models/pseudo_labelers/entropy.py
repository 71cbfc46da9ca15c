"""Pseudo-labels of PLOP: certain enough for their class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS
from torch import Tensor

from mmseg_rbc.models.outputs import Outputs, run_network

from .base import BasePseudoLabeler, first_largest
from .thresholds import (
    HistogramThresholds,
    MedianThresholds,
    PublishedThresholds,
)

ESTIMATORS: dict[str, type[MedianThresholds | HistogramThresholds]] = dict(
    published=PublishedThresholds,
    histogram=HistogramThresholds,
    median=MedianThresholds,
)


def normalized_entropy(logits: Tensor, num_seen: int) -> Tensor:
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
    scale = num_old * math.log(num_old) * math.log(num_seen)
    # With z relative to its maximum and p = e^z / s, -sum p ln p is
    # ln s - sum e^z z / s: one exponential and no logarithm of each value.
    # The 1e-8 of the published code changes less than rounding.
    z = logits.float() - logits.amax(0).float()
    exp = z.exp()
    total = exp.sum(0)
    entropy = total.log() - exp.mul_(z).sum(0) / total
    # Adding 0 turns -0.0 into 0.0: the median sorts values by their bits,
    # and those of -0.0 are the largest of all.
    return entropy.div_(scale).clamp_(min=0) + 0.0


@MODELS.register_module()
class EntropyPseudoLabeler(BasePseudoLabeler):
    """Accept pixels whose entropy is below the threshold of their class.

    The thresholds are estimated once before training by
    ``PseudoThresholdHook``.

    Args:
        estimator: ``published``: the rule behind every published number, the
            median of a coarse histogram walked with a slip; ``histogram``:
            the same bins without the slip; ``median``: the exact median,
            which PLOP's paper describes.
        adaptive: See :class:`BasePseudoLabeler`.
        keep_labels: The same.
    """

    thresholds: Tensor | None

    def __init__(
        self,
        estimator: str = 'published',
        adaptive: bool = True,
        keep_labels: bool = False,
    ) -> None:
        super().__init__(adaptive, keep_labels)
        if estimator not in ESTIMATORS:
            raise ValueError(
                f'estimator={estimator!r} is unknown: choose one of '
                f'{", ".join(ESTIMATORS)}'
            )
        self._estimator = ESTIMATORS[estimator]
        self.register_buffer('thresholds', None, persistent=False)

    @torch.no_grad()
    def estimate(
        self,
        teacher: EncoderDecoder,
        batches: Callable[[], Iterable[tuple[Tensor, Tensor]]],
        num_seen: int,
        watch: Callable[[Outputs, Tensor], None] | None = None,
    ) -> Tensor:
        """Estimate the thresholds from the background pixels of images.

        Args:
            teacher: The network of the previous step.
            batches: Called for every pass over the images; gives images
                ``(N, 3, H, W)`` and labels ``(N, H, W)``.
            num_seen: K.
            watch: Called with outputs of the teacher and labels of each
                batch, in the first pass.

        Returns:
            ``(O,)`` thresholds, the same in all processes.
        """
        device = next(teacher.parameters()).device
        estimator = self._estimator(teacher.num_classes, device)
        for number in range(estimator.num_passes):
            for images, labels in batches():
                outputs = run_network(teacher, images)
                if watch is not None and number == 0:
                    watch(outputs, labels)
                for i, label in enumerate(labels):
                    logits, background = outputs.image_logits(i), label == 0
                    entropy = normalized_entropy(logits, num_seen)
                    classes = first_largest(logits)
                    estimator.update(entropy[background], classes[background])
            estimator.end_pass()
        return estimator.thresholds()

    def accept(self, logits: Tensor, classes: Tensor, num_seen: int) -> Tensor:
        """Accept by entropy."""
        if self.thresholds is None:
            raise RuntimeError(
                'the thresholds of the pseudo-labels are missing: add '
                'dict(type="PseudoThresholdHook") to custom_hooks'
            )
        entropy = normalized_entropy(logits, num_seen)
        return entropy < self.thresholds[classes]
