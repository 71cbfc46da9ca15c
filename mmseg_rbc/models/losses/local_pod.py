"""Local POD: pooled features of student and teacher stay close (PLOP)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmseg_rbc.models.classifier import fold_new_logits
from mmseg_rbc.models.outputs import Outputs

# Norm of the squares of features that are 0 but for rounding.
SILENT = 1e-12
# Values of the maps that are squared and pooled at once: half a MB.
CHUNK = 2**17


def local_pod_embedding(
    feature: Tensor, scales: Sequence[int] = (1, 2, 4)
) -> list[Tensor]:
    """Pool a map over the rows and the columns of its cells, phi of PLOP.

    For every scale s the map is cut into s x s cells of
    ``floor(h / s) x floor(w / s)`` (a remainder is dropped); each cell gives
    its mean over the width and its mean over the height.

    Args:
        feature: ``(B, C, h, w)``.
        scales: A scale above the size of the map is left out.

    Returns:
        The parts of phi: for every scale ``(B, C, h, s)`` and
        ``(B, C, s, w)``.
    """
    height, width = feature.shape[-2:]
    scales = [s for s in scales if s <= min(height, width)]
    finest = max(scales)
    # Where coarser cells consist of finer ones so do their means, and only
    # the finest are taken from the map.
    nested = not any(n % s for s in scales for n in (height, width, finest))
    rows = columns = feature
    if nested:
        rows = _pool(feature, -1, width // finest)
        columns = _pool(feature, -2, height // finest)
    parts = []
    for s in scales:
        kh, kw = height // s, width // s
        if not nested:
            rows = columns = feature[..., : s * kh, : s * kw]
        parts.append(_pool(rows, -1, rows.shape[-1] // s))
        parts.append(_pool(columns, -2, columns.shape[-2] // s))
    return parts


def _pool(feature: Tensor, axis: int, size: int) -> Tensor:
    """Return the means of groups of rows (axis -2) or columns (-1)."""
    if size == 1:
        return feature
    if feature.is_contiguous(memory_format=torch.channels_last):
        # The same; several times as fast in this format, slower in others.
        return F.avg_pool2d(feature, (1, size) if axis == -1 else (size, 1))
    return feature.unflatten(axis, (-1, size)).mean(axis)


def _norm(parts: Sequence[Tensor]) -> Tensor:
    """Return ``(B,)``: the Euclidean norm of all parts of a phi."""
    # Of norms: parts side by side would lose their memory format. The
    # gradient of vector_norm at 0 is 0, not NaN.
    norms = [torch.linalg.vector_norm(p, dim=(1, 2, 3)) for p in parts]
    return torch.linalg.vector_norm(torch.stack(norms), dim=0)


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
    # In place, and the other way round, which no norm sees: less memory.
    difference = (student.float() ** 2).sub_(square)
    norm = _norm(local_pod_embedding(difference))
    if relative:
        own = _norm(local_pod_embedding(square))
        norm = norm / own.masked_fill(own < SILENT, math.inf)
    return norm


@MODELS.register_module()
class LocalPODLoss(nn.Module):
    """Local POD over all layers, the distillation loss of PLOP.

    ``sqrt(K / N) (1 / L) sum_l lambda_l d_l`` over the backbone stages as
    the MMSeg backbone returns them (the published network gives them before
    their last activation), the embedding, and the small logits with the new
    ones folded into background, or left out where there is none.

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
        logits = student.small_logits.float()
        folded = (
            fold_new_logits(logits, num_old)
            if student.first_class
            else logits[:, :num_old]
        )
        total = self.weight * sum(distances)
        total = total + self.logits_weight * local_pod_distance(
            folded, teacher.small_logits, self.relative
        )
        factor = math.sqrt(num_seen / (num_seen - num_old))
        return factor * total / (len(pairs) + 1)
