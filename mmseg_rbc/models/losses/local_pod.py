"""Local POD: pooled features of student and teacher stay close (PLOP)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mmseg_rbc.models.classifier import fold_new_logits
from mmseg_rbc.models.outputs import Outputs

SCALES = (1, 2, 4)
# Norm of the squares of features that are 0 but for rounding.
SILENT = 1e-12
# Values of the maps that are squared and pooled at once: half a MB.
CHUNK = 2**17
# Rows or columns of a group that are added one after the other.
FEW = 4


def local_pod_embedding(
    feature: Tensor, scales: Sequence[int] = SCALES
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
    taken, coarser = _scales_of(feature, scales)
    return _add_coarser(_take(feature, taken), coarser)


def _scales_of(
    feature: Tensor, scales: Sequence[int] = SCALES
) -> tuple[list[int], list[int]]:
    """Return the scales that are taken from a map, and the coarser others.

    Where coarser cells consist of finer ones so do their means, and only the
    finest are taken from the map.
    """
    height, width = feature.shape[-2:]
    scales = sorted(s for s in scales if s <= min(height, width))
    sizes = (height, width, scales[-1])
    if any(n % s for s in scales for n in sizes):
        return scales, []
    return scales[-1:], scales[:-1]


def _take(feature: Tensor, scales: Sequence[int]) -> list[Tensor]:
    """Return the parts of phi of some scales."""
    parts = []
    for s in scales:
        cells = _divisible(feature, s)
        parts += [_pool(cells, -1, s), _pool(cells, -2, s)]
    return parts


def _add_coarser(
    parts: Sequence[Tensor], scales: Sequence[int]
) -> list[Tensor]:
    """Return the parts of coarser scales before those of the finest."""
    axes = (-1, -2)
    coarser = [
        _pool(part, axis, s) for s in scales for part, axis in zip(parts, axes)
    ]
    return [*coarser, *parts]


def _put(
    parts: Sequence[Tensor], target: Tensor, scales: Sequence[int]
) -> Tensor:
    """Add the transpose of :func:`_take` to a map, in place."""
    for i, s in enumerate(scales):
        cells = _divisible(target, s)
        _add_means(cells, parts[2 * i], -1)
        _add_means(cells, parts[2 * i + 1], -2)
    return target


def _collect(parts: Sequence[Tensor], number: int) -> list[Tensor]:
    """Return the transpose of :func:`_add_coarser`, of so many scales."""
    # Copies: of a 4 x 4 map both parts are the map itself.
    finest = [part.clone() for part in parts[2 * number :]]
    for i, part in enumerate(parts[: 2 * number]):
        _add_means(finest[i % 2], part, -1 - i % 2)
    return finest


def _divisible(feature: Tensor, s: int) -> Tensor:
    """Return a map without what s x s cells leave over."""
    height, width = feature.shape[-2:]
    return feature[..., : height // s * s, : width // s * s]


def _pool(feature: Tensor, axis: int, count: int) -> Tensor:
    """Return the means of groups of rows (axis -2) or columns (-1)."""
    size = feature.shape[axis] // count
    if size == 1:
        return feature
    if _is_channels_last(feature):
        # The same; several times as fast in this format, slower in others.
        return F.avg_pool2d(feature, (1, size) if axis == -1 else (size, 1))
    groups = feature.unflatten(axis, (count, size))
    if not _is_in_slices(groups, axis):
        return groups.mean(axis)
    members = groups.unbind(axis)
    total = members[0] + members[1]
    for member in members[2:]:
        total += member
    return total.div_(size)


def _add_means(target: Tensor, means: Tensor, axis: int) -> None:
    """Add the transpose of :func:`_pool` in place."""
    count = means.shape[axis]
    groups = target.unflatten(axis, (count, -1))
    share = count / target.shape[axis]
    if _is_channels_last(target) or not _is_in_slices(groups, axis):
        groups.add_(means.unsqueeze(axis), alpha=share)
        return
    for member in groups.unbind(axis):
        member.add_(means, alpha=share)


def _is_channels_last(feature: Tensor) -> bool:
    # A part of a map is not contiguous.
    return feature.stride(1) == 1


def _is_in_slices(groups: Tensor, axis: int) -> bool:
    """Whether small groups are taken slice by slice.

    A CPU is several times as fast so, where values of a group lie side by
    side; each slice is a kernel of a GPU.
    """
    return groups.is_cpu and groups.shape[axis] <= FEW


def _norm(parts: Sequence[Tensor]) -> Tensor:
    """Return ``(B,)``: the Euclidean norm of all parts of a phi."""
    # Of norms: parts side by side would lose their memory format.
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
    return _Distances.apply(student, teacher, relative).mean()


class _Distances(torch.autograd.Function):
    """``(B,)`` distances of images.

    With ``d = phi(A^2) - phi(A'^2)`` the gradient of ``||d||`` is
    ``2 A phi^T(d) / ||d||``, and 0 where the norm is 0. A few images at a
    time, of large maps one: squares of the whole batch take its memory thrice.
    """

    @staticmethod
    def forward(
        ctx: Any, student: Tensor, teacher: Tensor, relative: bool
    ) -> Tensor:
        ctx.count = max(1, CHUNK // student[0].numel())
        pairs = zip(student.split(ctx.count), teacher.split(ctx.count))
        keeps = ctx.needs_input_grad[0]
        chunks = [_distance(*pair, relative, keeps) for pair in pairs]
        found, *kept = (torch.cat(each) for each in zip(*chunks))
        if keeps:
            ctx.save_for_backward(student, *kept)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        student, factor, *parts = ctx.saved_tensors
        scales, _ = _scales_of(student)
        factor = (2 * scale * factor)[:, None, None, None]
        gradient = torch.empty_like(student, dtype=torch.float32)
        every = (gradient, student, factor, *parts)
        for chunk in zip(*(each.split(ctx.count) for each in every)):
            result, own, by, *values = chunk
            _put(values, result.zero_(), scales).mul_(own).mul_(by)
        return gradient.to(student.dtype), None, None


def _distance(
    student: Tensor, teacher: Tensor, relative: bool, keeps: bool
) -> list[Tensor]:
    """Return ``(B,)`` distances, and what their gradient is made of.

    Args:
        student: ``(B, C, h, w)``.
        teacher: The same.
        relative: See :func:`local_pod_distance`.
        keeps: Whether to return ``1 / ||d||``, of relative distances over
            the norm of the teacher, and d, of which the finest scale holds
            the coarser ones.
    """
    square = teacher.float().square()
    parts = local_pod_embedding(student.float().square().sub_(square))
    norm = _norm(parts)
    own = torch.ones_like(norm)
    if relative:
        own = _norm(local_pod_embedding(square))
        own.masked_fill_(own < SILENT, math.inf)
    if not keeps:
        return [norm / own]
    factor = (norm * own).reciprocal().masked_fill_(norm == 0, 0)
    _, coarser = _scales_of(student)
    return [norm / own, factor, *_collect(parts, len(coarser))]


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
