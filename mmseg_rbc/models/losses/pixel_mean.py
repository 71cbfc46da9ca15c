"""Losses of full-size logits without full-size tensors of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mmseg_rbc.models.outputs import Outputs

Function = Callable[..., Tensor]
Other = Union[Outputs, Tensor]


def pixel_mean(function: Function, student: Outputs, *others: Other) -> Tensor:
    """Return a mean over pixels, such as a cross entropy, in little memory.

    The result is ``function(student.logits, *others)``, where Outputs among
    the others stand for their logits. It is evaluated for a band of rows of
    one image after the other, each time together with its gradient. Of an
    image only the gradient of the small logits is kept; the backward pass
    does no more than scale it.

    Args:
        function: Takes float32 logits of some pixels, ``(r, K, 1, W)``, and
            the same pixels of the others, ``(r, O, 1, W)`` or ``(r, 1, W)``;
            returns the mean of a loss over these pixels.
        student: Outputs over B images; their small logits get the gradient.
        others: Outputs of the teacher, or maps that expand to ``(B, H, W)``.
            They get no gradient.
    """
    small = student.small_logits.float()
    return _PixelMean.apply(small, function, student, others)


class _PixelMean(torch.autograd.Function):
    """:func:`pixel_mean`, whose forward pass finds the gradient as well."""

    @staticmethod
    def forward(
        ctx: Any,
        small: Tensor,
        function: Function,
        student: Outputs,
        others: Sequence[Other],
    ) -> Tensor:
        # The gradients are found here, too: in float32 as all the rest.
        with torch.autocast(small.device.type, enabled=False):
            values, gradients = zip(
                *(
                    _image_mean(function, student, image, others, i)
                    for i, image in enumerate(small)
                )
            )
        ctx.save_for_backward(torch.stack(gradients) / len(small))
        return torch.stack(values).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return scale * gradient, None, None, None


def _image_mean(
    function: Function,
    student: Outputs,
    small: Tensor,
    others: Sequence[Other],
    index: int,
) -> tuple[Tensor, Tensor]:
    """Return the value of one image and the gradient of its small logits."""
    with torch.enable_grad():
        small = small.detach().requires_grad_()
        wide = student.widen(small)
    shape = (len(student.small_logits), *student.size)
    maps = [_of_image(other, index, shape) for other in others]
    value, gradient = wide.new_zeros(()), torch.zeros_like(wide)
    # A function takes several times the memory of its logits: so see a few.
    for rows in student.bands():
        parts = [part(rows) for part in maps]
        with torch.enable_grad():
            leaf = wide.detach().requires_grad_()
            share = (rows.stop - rows.start) / student.size[0]
            loss = share * function(student.rows(leaf, rows), *parts)
        gradient += torch.autograd.grad(loss, leaf)[0]
        value += loss.detach()
    return value, torch.autograd.grad(wide, small, gradient)[0]


def _of_image(
    other: Other, index: int, shape: tuple[int, int, int]
) -> Callable[[slice], Tensor]:
    """Return a function that gives some rows of an image of a map."""
    if isinstance(other, Outputs):
        wide = other.widen(index)
        return lambda rows: other.rows(wide, rows)
    image = other.expand(shape)[index, :, None]
    return lambda rows: image[rows]
