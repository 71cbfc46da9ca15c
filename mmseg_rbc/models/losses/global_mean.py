"""Means over the images and pixels of all processes.

Processes may have different numbers of images. Their gradients are averaged,
so the loss of each, a mean over its own images, is weighted by
:func:`image_share`: then the average is the mean over all images, whatever the
number of processes.
"""

from __future__ import annotations

import torch
from mmengine.dist import all_reduce, get_world_size
from torch import Tensor


def image_share(num_images: int, like: Tensor) -> Tensor | float:
    """Return the weight of a process in the mean over all images.

    Args:
        num_images: n, of the process.
        like: Any tensor on its device.

    Returns:
        ``W n / N`` with W processes and N images: 1 if they share evenly.
    """
    if get_world_size() == 1:
        return 1.0
    total = torch.full((), float(num_images), device=like.device)
    all_reduce(total)
    return get_world_size() * num_images / total


def global_mean(total: Tensor, mask: Tensor) -> Tensor:
    """Divide the sum of a process by the pixels of a mask in all processes.

    A sum needs no weight for the number of images: what
    :func:`image_share` will multiply it with is taken out before.

    Args:
        total: Sum over the pixels of the mask.
        mask: ``(B, H, W)`` bool, of the images of the process.
    """
    count = mask.sum(dtype=torch.float64)
    counts = torch.stack([count, torch.full_like(count, mask.numel())])
    all_reduce(counts)
    count, num_pixels = counts
    share = num_pixels / mask.numel() / count.clamp(min=1)
    return total * share.to(total.dtype)
