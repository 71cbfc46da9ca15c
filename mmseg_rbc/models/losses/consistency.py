"""Old classes look the same beside new ones and without them (RBC)."""

from __future__ import annotations

from dataclasses import replace

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs

from .global_mean import global_mean
from .pixel_mean import Function, pixel_mean

PAIRINGS = ('student', 'teacher')


def squared_distance(difference: Tensor, mask: Tensor) -> Tensor:
    """Sum of ``|| d ||^2`` over the pixels of a mask, by **all** pixels.

    Args:
        difference: d, ``(B, C, H, W)``.
        mask: ``(B, H, W)`` bool.
    """
    return (difference.square().sum(1) * mask).mean()


def relative_distance(pair: Tensor, mask: Tensor) -> Tensor:
    """Sum of ``2 |a - b|^2 / (|a|^2 + |b|^2)`` over M, by **all** pixels.

    It is 0 for equal and 2 for orthogonal logits, and does not change when
    both are scaled: smaller logits do not satisfy it.

    Args:
        pair: ``(B, 2C, H, W)``: a, then b.
        mask: M, ``(B, H, W)`` bool.
    """
    a, b = pair.chunk(2, 1)
    size = pair.square().sum(1).clamp(min=torch.finfo(pair.dtype).eps)
    return (2 * (a - b).square().sum(1) / size * mask).mean()


@MODELS.register_module()
class ContextConsistencyLoss(nn.Module):
    """Consistency of predictions on old pixels M, the context term of RBC.

    M holds the pixels whose refined label is an old class but background; in
    a network without background all old classes count.
    The paper writes a sum over M; the mean is used here. It is taken over
    all processes, so that their number does not change the result.

    Args:
        pairing: ``student`` (paper, eq. 5-3): logits 1 to O-1 of the erased
            view against those of the full one, with gradient to both.
            ``teacher`` (released code): logits 0 to O-1 of the student
            against those of the teacher on the same view, over both views.
        weight: gamma.
        relative: Divide the squared distance at a pixel by the mean squared
            norm of its two sides.
    """

    def __init__(
        self,
        pairing: str = 'student',
        weight: float = 0.01,
        relative: bool = False,
    ) -> None:
        super().__init__()
        if pairing not in PAIRINGS:
            raise ValueError(
                f'pairing={pairing!r} is neither "student" nor "teacher"'
            )
        self.pairing = pairing
        self.weight = weight
        self.relative = relative

    def forward(
        self, student: Outputs, teacher: Outputs, target: Tensor
    ) -> Tensor:
        """Return the loss.

        Args:
            student: Outputs of the full and the erased views.
            teacher: The same of the teacher.
            target: ``(2N, H, W)`` refined labels.
        """
        if student.num_views != 2:
            raise ValueError(
                'the consistency loss needs image duplets: add erase='
                'dict(type="NewClassErase") to the method'
            )
        num_old = teacher.small_logits.shape[1]
        first = student.first_class
        is_old = (target >= first) & (target < num_old)
        logits = student.small_logits[:, :num_old].float()
        if self.pairing == 'student':
            is_old = is_old.chunk(2)[0]
            a, b = logits[:, first:].chunk(2)
        else:
            a, b = logits, teacher.small_logits.float()
        distance: Function
        if self.relative:
            distance, small = relative_distance, torch.cat([a, b], 1)
        else:
            # Resizing is linear: the difference is resized, not both sides.
            distance, small = squared_distance, a - b
        sides = replace(student, small_logits=small)
        mean = pixel_mean(distance, sides, is_old)
        return self.weight * global_mean(mean * is_old.numel(), is_old)
