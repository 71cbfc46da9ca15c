"""Distillation that knows where the new classes are: LGKD."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs
from mmseg_rbc.tasks import IGNORE_INDEX

from .global_mean import global_mean


def label_guided_probs(
    teacher_logits: Tensor, target: Tensor, num_seen: int
) -> Tensor:
    """Give what the teacher calls background to the new class that is there.

    Args:
        teacher_logits: z', ``(B, O, h, w)``.
        target: ``(B, h, w)`` labels.
        num_seen: K.

    Returns:
        ``(B, K, h, w)``: ``softmax(z')`` and N zeros; at a pixel of new class
        y the probability of background moves to y.
    """
    num_old = teacher_logits.shape[1]
    probs = teacher_logits.float().softmax(1)
    probs = F.pad(probs, (0, 0, 0, 0, 0, num_seen - num_old))
    background = probs[:, :1].clone()
    # The new class, or background itself.
    place = target.where(_is_new(target, num_old), 0)[:, None]
    probs[:, 0] = 0
    return probs.scatter(1, place, background)


def label_guided_distillation(
    logits: Tensor,
    teacher_logits: Tensor,
    target: Tensor,
    old_weight: float = 10.0,
    new_weight: float = 2.0,
) -> Tensor:
    """Cross entropy with :func:`label_guided_probs` p over all K classes.

    ``-(1 / n) sum_i w_i sum_{c < K} p_ic log softmax(z_i)_c`` over the n
    pixels that are not void, of all processes. That is the mean of the
    published code; in erased views many pixels are void.

    Args:
        logits: z, ``(B, K, h, w)``.
        teacher_logits: z', ``(B, O, h, w)``.
        target: ``(B, h, w)`` labels; all below O count alike.
        old_weight: w of pixels with a label below O.
        new_weight: w of pixels of new classes.
    """
    probs = label_guided_probs(teacher_logits, target, logits.shape[1])
    loss = -(probs * logits.float().log_softmax(1)).sum(1)
    is_new = _is_new(target, teacher_logits.shape[1])
    weight = torch.where(is_new, new_weight, old_weight)
    is_labeled = target != IGNORE_INDEX
    return global_mean((weight * is_labeled * loss).sum(), is_labeled)


def _is_new(target: Tensor, num_old: int) -> Tensor:
    return (target >= num_old) & (target != IGNORE_INDEX)


@MODELS.register_module()
class LabelGuidedDistillationLoss(nn.Module):
    """:func:`label_guided_distillation` of the small logits, of LGKD.

    It takes the labels of the images, not those that were refined by the
    teacher, at the size of the logits. In an erased view the new classes are
    void: there it distills all that is left as old pixels.

    Args:
        old_weight: See :func:`label_guided_distillation`.
        new_weight: The same.
    """

    def __init__(
        self, old_weight: float = 10.0, new_weight: float = 2.0
    ) -> None:
        super().__init__()
        self.old_weight = old_weight
        self.new_weight = new_weight

    def forward(
        self, student: Outputs, teacher: Outputs, target: Tensor
    ) -> Tensor:
        """Return the loss; refined labels are not used."""
        if not student.first_class:
            raise ValueError(
                'LabelGuidedDistillationLoss gives the probability of '
                'background to new classes, but this network has no '
                'background: leave it out of method.losses'
            )
        return label_guided_distillation(
            student.small_logits,
            teacher.small_logits,
            student.small_labels,
            self.old_weight,
            self.new_weight,
        )
