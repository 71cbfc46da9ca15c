"""Criteria of (pseudo-)labeled pixels, and the balance weight."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.outputs import Outputs
from mmseg_rbc.tasks import IGNORE_INDEX

from .pixel_mean import pixel_mean


def pixel_cross_entropy(
    logits: Tensor, target: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Weighted cross entropy, averaged over **all** pixels.

    ``(1 / B H W) sum_i w_i CE(z_i, y_i)``, with CE zero on ignored pixels,
    which still count in the denominator.

    Args:
        logits: ``(B, K, H, W)``.
        target: ``(B, H, W)`` labels, 255 is ignored.
        weight: ``(B, H, W)``, or any shape that expands to it.
    """
    loss = F.cross_entropy(
        logits.float(), target, ignore_index=IGNORE_INDEX, reduction='none'
    )
    return _weighted_mean(loss, weight)


def unbiased_cross_entropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    num_old: int = 1,
    keep_labels: bool = False,
) -> Tensor:
    """Cross entropy in which background may be any old class (MiB).

    A label below O means ``p_0 + ... + p_{O-1}``. With one old class, which
    is background, it is :func:`pixel_cross_entropy`, whose arguments and
    mean it shares. With ``keep_labels`` a label from 1 to O - 1, which images
    in memory have, means that class alone.
    """
    logits, num_old = logits.float(), max(num_old, 1)
    old, new = logits.split([num_old, logits.shape[1] - num_old], 1)
    any_old = log_sum_exp(old)
    valid = target != IGNORE_INDEX
    # All old classes are one, whose logit is log(e^z_0 + ... + e^z_{O-1}).
    labels = (target - num_old + 1).clamp(min=0)
    loss = F.cross_entropy(
        torch.cat([any_old, new], 1),
        labels.where(valid, IGNORE_INDEX),
        ignore_index=IGNORE_INDEX,
        reduction='none',
    )
    if keep_labels:
        kept = (target > 0) & (target < num_old)
        own = old.gather(1, target.where(kept, 0)[:, None])
        loss = loss + (any_old - own)[:, 0].where(kept, 0)
    return _weighted_mean(loss, weight)


def log_sum_exp(logits: Tensor) -> Tensor:
    """Return ``logsumexp(1, keepdim=True)``, twice as fast on a CPU.

    From ``log_softmax``, of which torch has fused kernels:
    ``log p_0 = z_0 - log(e^z_0 + e^z_1 + ...)``.
    """
    return logits[:, :1] - logits.log_softmax(1)[:, :1]


def one_vs_rest_cross_entropy(
    logits: Tensor, target: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Sum of K binary cross entropies (LwF-MC).

    ``sum_{c < K} BCE(z_c, 1[y = c])`` of a pixel; arguments and mean are
    those of :func:`pixel_cross_entropy`.
    """
    valid = target != IGNORE_INDEX
    labels = target.where(valid, 0)[:, None]
    # BCE(z, t) = softplus(z) - t z: no one-hot labels of the size of z.
    logits = logits.float()
    loss = F.softplus(logits).sum(1) - logits.gather(1, labels)[:, 0]
    return _weighted_mean(loss * valid, weight)


def _weighted_mean(loss: Tensor, weight: Tensor | None) -> Tensor:
    return (loss if weight is None else loss * weight).mean()


def balance_weight(
    target: Tensor, num_old: int, first_class: int = 1
) -> Tensor:
    """Weight of old-class pixels, eq. (8) of RBC.

    Args:
        target: ``(N, H, W)`` refined labels.
        num_old: Classes of the previous step, background included.
        first_class: See :class:`.Outputs`.

    Returns:
        ``(N, H, W)``: ``0.5 + sigmoid(n_old / n_new)`` of its image on
        old-class pixels, 1 elsewhere.
    """
    is_old = (target >= first_class) & (target < num_old)
    is_new = (target >= num_old) & (target != IGNORE_INDEX)
    n_old, n_new = is_old.sum((1, 2)), is_new.sum((1, 2)).clamp(min=1)
    eta = 0.5 + torch.sigmoid(n_old / n_new)
    return torch.where(is_old, eta[:, None, None], 1.0)


class Criterion(nn.Module):
    """A loss of labeled pixels as a module.

    Attributes:
        function: Takes logits, target and weight.
        uses_num_old: Whether it takes ``num_old`` as well.
    """

    function: Callable[..., Tensor]
    uses_num_old = False

    def forward(
        self,
        student: Outputs | Tensor,
        target: Tensor,
        weight: Tensor | None,
        num_old: int,
    ) -> Tensor:
        """Return the loss, see :func:`pixel_cross_entropy`.

        Args:
            student: Outputs over B images, or full-size logits, which take
                more memory.
            target: ``(B, H, W)`` labels.
            weight: Expands to them.
            num_old: O.
        """
        more = dict(num_old=num_old) if self.uses_num_old else {}
        function = partial(self.function, **more)
        maps = [target] if weight is None else [target, weight]
        if isinstance(student, Tensor):
            return function(student, *maps)
        return pixel_mean(function, student, *maps)


@MODELS.register_module()
class PixelCrossEntropy(Criterion):
    """:func:`pixel_cross_entropy` as a criterion."""

    function = staticmethod(pixel_cross_entropy)


@MODELS.register_module()
class UnbiasedCrossEntropy(Criterion):
    """:func:`unbiased_cross_entropy` as a criterion.

    Args:
        keep_labels: Whether labels of old classes mean just these.
    """

    uses_num_old = True

    def __init__(self, keep_labels: bool = False) -> None:
        super().__init__()
        self.function = partial(
            unbiased_cross_entropy, keep_labels=keep_labels
        )


@MODELS.register_module()
class OneVsRestCrossEntropy(Criterion):
    """:func:`one_vs_rest_cross_entropy` as a criterion."""

    function = staticmethod(one_vs_rest_cross_entropy)
