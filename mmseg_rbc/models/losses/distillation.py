"""The student keeps what the teacher says: LwF, LwF-MC, ILT and MiB."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs


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
    # The mean over classes is the factor 1 / O.
    return -(probs * log_probs).mean()


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
    log_probs = logits.float().log_softmax(1)
    old, new = log_probs[:, :num_old], log_probs[:, num_old:]
    background = torch.cat([old[:, :1], new], dim=1).logsumexp(1, keepdim=True)
    return torch.cat([background, old[:, 1:]], dim=1)


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
            out (LwF).
    """

    def __init__(self, weight: float = 100.0, unbiased: bool = False) -> None:
        super().__init__(weight)
        self.log_probs = folded_log_probs if unbiased else old_log_probs

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the cross entropy of both distributions."""
        num_old = teacher.small_logits.shape[1]
        log_probs = self.log_probs(student.logits, num_old)
        return knowledge_distillation(log_probs, teacher.logits)


@MODELS.register_module()
class SigmoidDistillationLoss(DistillationLoss):
    """One binary cross entropy for each old class, of LwF-MC.

    ``mean_pixels sum_{c < O} BCE(z_c, sigmoid(z'_c))``
    """

    def __init__(self, weight: float = 10.0) -> None:
        super().__init__(weight)

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the sum over classes, averaged over pixels."""
        probs = teacher.logits.float().sigmoid()
        num_old = probs.shape[1]
        logits = student.logits[:, :num_old].float()
        return num_old * F.binary_cross_entropy_with_logits(logits, probs)


@MODELS.register_module()
class FeatureDistillationLoss(DistillationLoss):
    """Mean squared error of the last backbone feature, of ILT."""

    def __init__(self, weight: float = 100.0) -> None:
        super().__init__(weight)

    def distance(self, student: Outputs, teacher: Outputs) -> Tensor:
        """Return the mean over all elements."""
        a, b = student.feats[-1], teacher.feats[-1]
        return F.mse_loss(a.float(), b.float())
