"""What one forward pass of a segmentor leaves for the losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from mmseg.models import EncoderDecoder
from mmseg.models.utils import resize
from torch import Tensor

from .heads import run_heads

# Values of a band of logits on a CPU: 1 MB.
BAND = 2**18


@dataclass
class Outputs:
    """One forward pass over a batch of B images (or views).

    Attributes:
        feats: The maps that the backbone returns, one for every stage.
        head_inputs: What the heads see: the output of backbone or neck.
        embedding: ``(B, C, h, w)`` input of the classifier.
        small_logits: ``(B, K, h, w)`` output of the classifier.
        size: ``(H, W)`` of the input.
        align_corners: How the head resizes its logits.
        num_views: 2 if the second half of the batch holds the erased views.
        other_logits: Of earlier heads of a cascade, and of further branches
            of the last head.
        labels: ``(B, H, W)`` labels of the images as they were loaded, before
            the teacher refines them; of the student only.
        first_class: Of the classes that are no background: 1, or 0 in a
            network without background, see
            :class:`.IncrementalEncoderDecoder`.
    """

    feats: tuple[Tensor, ...]
    head_inputs: tuple[Tensor, ...]
    embedding: Tensor
    small_logits: Tensor
    size: tuple[int, int]
    align_corners: bool = False
    num_views: int = 1
    other_logits: tuple[Tensor, ...] = ()
    labels: Tensor | None = None
    first_class: int = 1

    @cached_property
    def logits(self) -> Tensor:
        """``(B, K, H, W)`` logits at the size of the input."""
        return self.resize(self.small_logits)

    @property
    def small_labels(self) -> Tensor:
        """``(B, h, w)`` labels at the size of the small logits."""
        assert self.labels is not None
        return self.small(self.labels)

    def small(self, labels: Tensor) -> Tensor:
        """Bring labels ``(B, H, W)`` to the size of the small logits."""
        size = self.small_logits.shape[2:]
        maps = labels[:, None].float()
        return F.interpolate(maps, size, mode='nearest')[:, 0].long()

    def image_logits(self, index: int) -> Tensor:
        """Return ``(K, H, W)`` logits of one image in float32.

        A loop over images needs no full-size tensor of the whole batch.
        """
        rows = self.rows(self.widen(index), slice(0, self.size[0]))
        return rows[:, :, 0].transpose(0, 1)

    def widen(self, image: int | Tensor) -> Tensor:
        """Resize the width of the logits of one image.

        Args:
            image: Its number, or its logits ``(K, h, w)``.

        Returns:
            ``(h, K, W)`` float32.
        """
        if isinstance(image, int):
            image = self.small_logits[image].float()
        small = image.transpose(0, 1)
        if small.shape[-1] == self.size[1]:
            return small.contiguous()
        matrix = self._matrix(small.shape[-1], self.size[1], small.device)
        with torch.autocast(small.device.type, enabled=False):
            return small @ matrix.T

    def rows(self, wide: Tensor, rows: slice) -> Tensor:
        """Return some rows of the full-size logits of one image.

        Args:
            wide: ``(h, K, W)``, what :meth:`widen` returned.
            rows: r of the H.

        Returns:
            ``(r, K, 1, W)``: each row as if it were an image, since a single
            product of matrices gives them in this order.
        """
        (small, _, width), height = wide.shape, self.size[0]
        if small == height:
            return wide[rows, :, None]
        matrix = self._matrix(small, height, wide.device)
        # Only the rows that these are interpolated from, and some more.
        first, last = 0, small
        if small < height:
            first = max(0, rows.start * small // height - 2)
            last = min(small, -(-rows.stop * small // height) + 2)
        with torch.autocast(wide.device.type, enabled=False):
            found = matrix[rows, first:last] @ wide[first:last].flatten(1)
        return found.view(len(found), -1, 1, width)

    def _matrix(self, size: int, target: int, device: torch.device) -> Tensor:
        return resize_matrix(size, target, self.align_corners, device)

    def resize(self, logits: Tensor) -> Tensor:
        """Resize a map to the size of the input."""
        return resize(
            logits,
            size=self.size,
            mode='bilinear',
            align_corners=self.align_corners,
            warning=False,
        )

    def bands(self) -> list[slice]:
        """Cut the rows of an image into bands, for what sees single pixels.

        Temporary tensors of the size of the logits then cost a part of it.
        On a CPU a band fits into its cache; a GPU likes few large ones.
        """
        height, width = self.size
        small = self.small_logits
        values = small.shape[1] * height * width
        count = -(-values // BAND) if small.device.type == 'cpu' else 4
        rows = -(-height // count)
        return [
            slice(top, min(top + rows, height))
            for top in range(0, height, rows)
        ]


@lru_cache(maxsize=64)
@torch.inference_mode(False)
@torch.no_grad()
def resize_matrix(
    size: int, target: int, align_corners: bool, device: torch.device
) -> Tensor:
    """Return the ``(target, size)`` matrix that resizes a column.

    Bilinear resizing is linear and separable. As two products of matrices it
    is exact to rounding, several times as fast on a CPU as torch's own
    operator and its gradient, always adds up in the same order on a GPU (the
    operator's gradient does not), and can make some rows only.
    """
    columns = torch.eye(size, device=device)[None, None]
    resized = resize(
        columns,
        size=(target, size),
        mode='bilinear',
        align_corners=align_corners,
        warning=False,
    )
    return resized[0, 0]


def run_network(
    model: EncoderDecoder,
    inputs: Tensor,
    num_views: int = 1,
    labels: Tensor | None = None,
) -> Outputs:
    """Run a segmentor once and keep what the losses need.

    Args:
        model: Student or teacher.
        inputs: ``(B, 3, H, W)`` images.
        num_views: See :class:`Outputs`.
        labels: The same.
    """
    found = model.backbone(inputs)
    if isinstance(found, Tensor):
        raise ValueError(
            f'{type(model.backbone).__name__} returns one map where others '
            'return a tuple with one for every stage: choose a backbone that '
            'docs/networks.md says to work'
        )
    found = tuple(found)
    head_inputs = tuple(model.neck(found)) if model.with_neck else found
    embedding, small_logits, others = run_heads(model, head_inputs)
    return Outputs(
        feats=tuple(map(_feature_map, found)),
        head_inputs=head_inputs,
        embedding=embedding,
        small_logits=small_logits,
        size=(inputs.shape[2], inputs.shape[3]),
        align_corners=model.align_corners,
        num_views=num_views,
        other_logits=others,
        labels=labels,
        first_class=getattr(model, 'first_class', 1),
    )


def _feature_map(found: Any) -> Tensor:
    """Return a stage of a backbone, without a class token beside it."""
    return found[0] if isinstance(found, (tuple, list)) else found
