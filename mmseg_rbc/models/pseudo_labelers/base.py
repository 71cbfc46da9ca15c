"""What all pseudo-labelers share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

import torch
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs
from mmseg_rbc.tasks import IGNORE_INDEX


class BasePseudoLabeler(nn.Module, metaclass=ABCMeta):
    """Label background pixels with what the teacher sees there.

    Args:
        adaptive: Whether the loss of an image is weighted by beta, the share
            of its background pixels that were accepted (0 without any).
    """

    def __init__(self, adaptive: bool) -> None:
        super().__init__()
        self.adaptive = adaptive

    @abstractmethod
    def accept(self, logits: Tensor, classes: Tensor, num_seen: int) -> Tensor:
        """Say which pixels the teacher is sure of.

        Args:
            logits: ``(O, H, W)`` float32 logits of the teacher.
            classes: ``(H, W)`` their arg max.
            num_seen: K.

        Returns:
            ``(H, W)`` bool.
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
        num_old = teacher.small_logits.shape[1]
        refined, beta = target.clone(), []
        for i, labels in enumerate(refined):
            logits = teacher.image_logits(i)
            classes = logits.argmax(0)
            background = labels < num_old
            accepted = self.accept(logits, classes, num_seen) & background
            beta.append(accepted.sum() / background.sum().clamp(min=1))
            labels[background] = IGNORE_INDEX
            torch.where(accepted, classes, labels, out=labels)
        weight = torch.stack(beta)
        return refined, weight if self.adaptive else torch.ones_like(weight)
