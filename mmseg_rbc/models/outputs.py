"""What one forward pass of a segmentor leaves for the losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch.nn.functional as F
from mmseg.models import EncoderDecoder
from mmseg.models.utils import resize
from torch import Tensor

from .heads import run_heads


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
        stages: What the backbone returns, perhaps with class tokens.
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
    stages: tuple[Any, ...] = ()
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
        return self.resize(self.small_logits[index : index + 1].float())[0]

    def resize(self, logits: Tensor) -> Tensor:
        """Resize a map to the size of the input."""
        return resize(
            logits,
            size=self.size,
            mode='bilinear',
            align_corners=self.align_corners,
            warning=False,
        )


def row_bands(height: int, count: int = 4) -> list[slice]:
    """Cut the rows of an image into bands, for what looks at single pixels.

    Temporary tensors of the size of the logits then cost a part of it.
    """
    rows = -(-height // count)
    return [slice(top, top + rows) for top in range(0, height, rows)]


def run_network(
    model: EncoderDecoder,
    inputs: Tensor,
    num_views: int = 1,
    labels: Tensor | None = None,
    stages: tuple[Any, ...] | None = None,
) -> Outputs:
    """Run a segmentor once and keep what the losses need.

    Args:
        model: Student or teacher.
        inputs: ``(B, 3, H, W)`` images.
        num_views: See :class:`Outputs`.
        labels: The same.
        stages: The same, if they are known: the backbone does not run then.
    """
    found = model.backbone(inputs) if stages is None else stages
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
        stages=found,
        labels=labels,
        first_class=getattr(model, 'first_class', 1),
    )


def _feature_map(found: Any) -> Tensor:
    """Return a stage of a backbone, without a class token beside it."""
    return found[0] if isinstance(found, (tuple, list)) else found
