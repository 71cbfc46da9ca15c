"""What one forward pass of a segmentor leaves for the losses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from mmseg.models import EncoderDecoder
from mmseg.models.utils import resize
from torch import Tensor, nn


@dataclass
class Outputs:
    """One forward pass over a batch of B images (or views).

    Attributes:
        feats: What the backbone returns, one tensor for every stage.
        head_inputs: What the heads see: ``feats``, or the output of the neck.
        embedding: ``(B, C, h, w)`` input of the classifier.
        small_logits: ``(B, K, h, w)`` output of the classifier.
        size: ``(H, W)`` of the input.
        align_corners: How the head resizes its logits.
        num_views: 2 if the second half of the batch holds the erased views.
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
    first_class: int = 1

    @cached_property
    def logits(self) -> Tensor:
        """``(B, K, H, W)`` logits at the size of the input."""
        return self.resize(self.small_logits)

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
    model: EncoderDecoder, inputs: Tensor, num_views: int = 1
) -> Outputs:
    """Run a segmentor once and keep what the losses need.

    Args:
        model: Student or teacher.
        inputs: ``(B, 3, H, W)`` images.
        num_views: See :class:`Outputs`.
    """
    feats = tuple(model.backbone(inputs))
    head_inputs = tuple(model.neck(feats)) if model.with_neck else feats
    head = model.decode_head
    with _input_of(head.conv_seg) as captured:
        small_logits = head(head_inputs)
    if not captured or not isinstance(small_logits, Tensor):
        raise ValueError(
            f'{type(head).__name__} did not classify through cls_seg once: '
            'choose a head whose forward() returns self.cls_seg(...)'
        )
    return Outputs(
        feats=feats,
        head_inputs=head_inputs,
        embedding=captured[-1],
        small_logits=small_logits,
        size=(inputs.shape[2], inputs.shape[3]),
        align_corners=head.align_corners,
        num_views=num_views,
        first_class=getattr(model, 'first_class', 1),
    )


@contextmanager
def _input_of(module: nn.Module) -> Iterator[list[Tensor]]:
    """Collect what a module is called with.

    The hook lives for one call only, so no copy of the model carries it.
    """
    captured: list[Tensor] = []
    hook = module.register_forward_pre_hook(
        lambda _, args: captured.append(args[0])
    )
    try:
        yield captured
    finally:
        hook.remove()
