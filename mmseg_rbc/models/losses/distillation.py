"""The student keeps what the teacher says: LwF, LwF-MC, ILT and MiB."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs

from .cross_entropy import log_sum_exp
from .pixel_mean import pixel_mean


def knowledge_distillation(
    log_probs: Tensor, teacher_logits: Tensor
) -> Tensor:
    """Cross entropy between two distributions over the O old classes.

    ``-(1 / O) mean_pixels sum_{c < O} softmax(z')_c log p_c``

    Args:
        log_probs: ``(B, O, H, W)`` log p of the student.
        teacher_logits: z', the same shape.
    """
    probs = teacher_logits.float().softmax(1)
    # The mean over classes is the factor 1 / O. Not mean(), whose gradient
    # is a division of every value.
    return -(probs * log_probs).sum() / probs.numel()


def old_log_probs(logits: Tensor, num_old: int) -> Tensor:
    """Log probabilities among the old classes alone (LwF).

    Args:
        logits: ``(B, K, H, W)``.
        num_old: O.

    Returns:
        ``(B, O, H, W)``: ``log_softmax(z_0 .. z_{O-1})``.
    """
    return logits[:, :num_old].float().log_softmax(1)


def folded_log_probs(logits: Tensor, num_old: int) -> Tensor:
    """Log probabilities with the new classes counted as background (MiB).

    For the teacher a new class was background, so channel 0 is
    ``log(p_0 + sum_{c >= O} p_c)``, the others are ``log p_c``.

    Args:
        logits: ``(B, K, H, W)``.
        num_old: O.

    Returns:
        ``(B, O, H, W)``.
    """
    sizes = [1, num_old - 1, logits.shape[1] - num_old]
    background, old, new = logits.float().split(sizes, 1)
    # Folded first: what follows has O classes, and the same normalization.
    folded = log_sum_exp(torch.cat([background, new], 1))
    return torch.cat([folded, old], 1).log_softmax(1)


def sigmoid_distillation(logits: Tensor, teacher_logits: Tensor) -> Tensor:
    """One binary cross entropy for each old class.

    ``mean_pixels sum_{c < O} BCE(z_c, sigmoid(z'_c))``

    Args:
        logits: z, ``(B, K, H, W)``.
        teacher_logits: z', ``(B, O, H, W)``.
    """
    num_old = teacher_logits.shape[1]
    old, probs = logits[:, :num_old].float(), teacher_logits.float().sigmoid()
    return num_old * F.binary_cross_entropy_with_logits(old, probs)


class DistillationLoss(nn.Module):
    """A weighted distance between student and teacher.

    Args:
        weight: Factor of the loss.
    """

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the loss without its weight."""
        raise NotImplementedError

    def forward(
        self, student: Outputs, teacher: Outputs, target: Tensor
    ) -> Tensor:
        """Return the loss; labels are not used."""
        return self.weight * self.distance(student, teacher)


@MODELS.register_module()
class KnowledgeDistillationLoss(DistillationLoss):
    """:func:`knowledge_distillation` of the logits, of LwF and MiB.

    Args:
        weight: Factor of the loss: 100 for LwF, 10 for MiB.
        unbiased: Whether new classes count as background (MiB) or are left
            out (LwF, and where there is no background: a new class was any
            old one for the teacher).
    """

    def __init__(self, weight: float = 100.0, unbiased: bool = False) -> None:
        super().__init__(weight)
        self.unbiased = unbiased

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the cross entropy of both distributions."""
        folds = self.unbiased and student.first_class
        log_probs = folded_log_probs if folds else old_log_probs

        def of_logits(logits: Tensor, teacher_logits: Tensor) -> Tensor:
            own = log_probs(logits, teacher_logits.shape[1])
            return knowledge_distillation(own, teacher_logits)

        return pixel_mean(of_logits, student, teacher)


@MODELS.register_module()
class SigmoidDistillationLoss(DistillationLoss):
    """:func:`sigmoid_distillation` of the logits, of LwF-MC."""

    def __init__(self, weight: float = 10.0) -> None:
        super().__init__(weight)

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the sum over classes, averaged over pixels."""
        return pixel_mean(sigmoid_distillation, student, teacher)


@MODELS.register_module()
class FeatureDistillationLoss(DistillationLoss):
    """Mean squared error of the last backbone feature, of ILT."""

    def __init__(self, weight: float = 100.0) -> None:
        super().__init__(weight)

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the mean over all elements."""
        # Image by image: mse_loss takes the memory of its inputs again.
        total = student.small_logits.new_zeros((), dtype=torch.float)
        pairs = [*zip(student.feats[-1], teacher.feats[-1])]
        for a, b in pairs:
            total = total + F.mse_loss(a.float(), b.float())
        return total / len(pairs)
