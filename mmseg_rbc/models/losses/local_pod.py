"""Local POD: pooled features of student and teacher stay close (PLOP)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.classifier import fold_new_logits
from mmseg_rbc.models.outputs import Outputs

# Norm of the squares of features that are 0 but for rounding.
SILENT = 1e-12
# Values of the maps that are squared and pooled at once: 1 MB.
CHUNK = 2**18


def local_pod_embedding(
    feature: Tensor, scales: Sequence[int] = (1, 2, 4)
) -> Tensor:
    """Pool a map over the rows and the columns of its cells, phi of PLOP.

    For every scale s the map is cut into s x s cells of
    ``floor(h / s) x floor(w / s)`` (a remainder is dropped); each cell gives
    its mean over the width and its mean over the height.

    Args:
        feature: ``(B, C, h, w)``.
        scales: A scale above the size of the map is left out.

    Returns:
        ``(B, D)``: all means side by side.
    """
    height, width = feature.shape[-2:]
    scales = [s for s in scales if s <= min(height, width)]
    finest = max(scales)
    # Where coarser cells consist of finer ones so do their means, and only
    # the finest are taken from the map.
    nested = height % finest == width % finest == 0
    nested = nested and not any(finest % s for s in scales)
    means = _cell_means(feature, finest) if nested else None
    parts = []
    for s in scales:
        of_width, of_height = means or _cell_means(feature, s)
        if means:
            of_width = of_width.unflatten(-1, (s, -1)).mean(-1)
            of_height = of_height.unflatten(-2, (s, -1)).mean(-2)
        parts += [of_width.flatten(1), of_height.flatten(1)]
    return torch.cat(parts, dim=1)


def _cell_means(feature: Tensor, scale: int) -> tuple[Tensor, Tensor]:
    """Return the means of s x s cells over their width and their height.

    Returns:
        ``(B, C, h, s)`` and ``(B, C, s, w)``.
    """
    kh, kw = (side // scale for side in feature.shape[-2:])
    cells = feature[..., : scale * kh, : scale * kw]
    of_width = cells.unflatten(-1, (scale, kw)).mean(-1)
    return of_width, cells.unflatten(-2, (scale, kh)).mean(-2)


def local_pod_distance(
    student: Tensor, teacher: Tensor, relative: bool = False
) -> Tensor:
    """Distance ``mean_b || phi(A'^2) - phi(A^2) ||_2`` of one layer.

    phi is linear, so it is applied to the difference of the squares.

    Args:
        student: A, ``(B, C, h, w)``.
        teacher: A', the same shape.
        relative: Whether the distance of each image is divided by
            ``|| phi(A'^2) ||_2``, so that it depends neither on the size of
            the map nor on the scale of the features. An image on which the
            teacher's layer is silent has no such scale and counts as 0.
    """
    # A few images at a time, of large maps one: squares of the whole batch
    # take its memory thrice.
    count = max(1, CHUNK // student[0].numel())
    pairs = zip(student.split(count), teacher.split(count))
    return torch.cat([_distance(a, b, relative) for a, b in pairs]).mean()


def _distance(student: Tensor, teacher: Tensor, relative: bool) -> Tensor:
    """Return ``(B,)`` distances of images."""
    square = teacher.float() ** 2
    difference = square - student.float() ** 2
    # The gradient of vector_norm at 0 is 0, not NaN.
    norm = torch.linalg.vector_norm(local_pod_embedding(difference), dim=1)
    if relative:
        own = torch.linalg.vector_norm(local_pod_embedding(square), dim=1)
        norm = norm / own.masked_fill(own < SILENT, math.inf)
    return norm


@MODELS.register_module()
class LocalPODLoss(nn.Module):
    """Local POD over all layers, the distillation loss of PLOP.

    ``sqrt(K / N) (1 / L) sum_l lambda_l d_l`` over the backbone stages as
    the MMSeg backbone returns them (the published network gives them before
    their last activation), the embedding, and the small logits with the new
    ones folded into background.

    Args:
        weight: lambda of features.
        logits_weight: lambda of the logits.
        relative: See :func:`local_pod_distance`. The published weights are
            for absolute distances of a ResNet-101 at 512 pixels; relative
            ones travel, with a weight of about 1 and a twentieth of it for
            the logits.
    """

    def __init__(
        self,
        weight: float = 0.01,
        logits_weight: float = 0.0005,
        relative: bool = False,
    ) -> None:
        super().__init__()
        self.weight = weight
        self.logits_weight = logits_weight
        self.relative = relative

    def forward(
        self, student: Outputs, teacher: Outputs, target: Tensor
    ) -> Tensor:
        """Return the loss; labels are not used."""
        num_old = teacher.small_logits.shape[1]
        num_seen = student.small_logits.shape[1]
        pairs = [
            *zip(student.feats, teacher.feats),
            (student.embedding, teacher.embedding),
        ]
        distances = [local_pod_distance(*p, self.relative) for p in pairs]
        # In float16 the sum of large logits would be infinite.
        folded = fold_new_logits(student.small_logits.float(), num_old)
        total = self.weight * sum(distances)
        total = total + self.logits_weight * local_pod_distance(
            folded, teacher.small_logits, self.relative
        )
        factor = math.sqrt(num_seen / (num_seen - num_old))
        return factor * total / (len(pairs) + 1)
