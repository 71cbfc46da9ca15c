"""What all pseudo-labelers share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

import torch
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs
from mmseg_rbc.tasks import IGNORE_INDEX


def first_largest(logits: Tensor) -> Tensor:
    """Return ``logits.argmax(0)``, several times as fast on a CPU.

    Args:
        logits: ``(O, ...)``, of at most 255 classes.
    """
    shape = (-1, *[1] * (logits.dim() - 1))
    # The first class has the highest rank, so it wins a tie.
    ranks = torch.arange(
        len(logits), 0, -1, dtype=torch.uint8, device=logits.device
    )
    is_largest = logits == logits.amax(0)
    rank = (is_largest * ranks.view(shape)).amax(0)
    # Where no value equals the largest one, it is NaN.
    return len(logits) - rank.long().clamp_(min=1)


class BasePseudoLabeler(nn.Module, metaclass=ABCMeta):
    """Label background pixels with what the teacher sees there.

    Args:
        adaptive: Whether the loss of an image is weighted by beta, the share
            of its background pixels that were accepted (0 without any).
        keep_labels: Whether labels of old classes that an image carries, as
            those in memory do, stay; otherwise they count as background.
    """

    def __init__(self, adaptive: bool, keep_labels: bool = False) -> None:
        super().__init__()
        self.adaptive = adaptive
        self.keep_labels = keep_labels

    @abstractmethod
    def accept(self, logits: Tensor, classes: Tensor, num_seen: int) -> Tensor:
        """Say which pixels the teacher is sure of.

        Args:
            logits: ``(O, h, W)`` float32 logits of the teacher, of some
                rows of an image.
            classes: ``(h, W)`` their arg max.
            num_seen: K.

        Returns:
            ``(h, W)`` bool.
        """

    @torch.no_grad()
    def forward(
        self, teacher: Outputs, target: Tensor, num_seen: int
    ) -> tuple[Tensor, Tensor]:
        """Refine the labels of full views.

        Args:
            teacher: Outputs of the teacher; its first N images are used.
            target: ``(N, H, W)`` labels: old classes are background.
            num_seen: K.

        Returns:
            ``(N, H, W)`` labels: background is the teacher's class where it
            is accepted and 255 elsewhere; and ``(N,)`` beta.
        """
        known = 1 if self.keep_labels else teacher.small_logits.shape[1]
        background = target < known
        refined = target.masked_fill(background, IGNORE_INDEX)
        accepted = background.clone()
        for i, (labels, mask) in enumerate(zip(refined, accepted)):
            wide = teacher.widen(i)
            for rows in teacher.bands():
                logits = teacher.rows(wide, rows)[:, :, 0].transpose(0, 1)
                classes = first_largest(logits)
                mask[rows] &= self.accept(logits, classes, num_seen)
                labels[rows] = classes.where(mask[rows], labels[rows])
        beta = accepted.sum((1, 2)) / background.sum((1, 2)).clamp(min=1)
        return refined, beta if self.adaptive else torch.ones_like(beta)
