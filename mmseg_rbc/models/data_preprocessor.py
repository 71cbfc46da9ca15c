"""Turn a batch of duplets into a batch of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.models import SegDataPreProcessor
from mmseg.registry import MODELS
from torch import Tensor


@MODELS.register_module()
class DupletDataPreProcessor(SegDataPreProcessor):
    """Flatten duplets view by view, then do as ``SegDataPreProcessor``.

    ``[(full x N), (erased x N)]`` becomes ``(2N, 3, H, W)``, the full views
    first, so that ``chunk(2)`` separates them. A batch of single images is
    left to the stock class.
    """

    def forward(self, data: dict, training: bool = False) -> dict[str, Any]:
        """Flatten and preprocess a batch."""
        if not is_duplet(data['inputs']):
            return super().forward(data, training)
        data = {key: flatten_views(views) for key, views in data.items()}
        data = self.cast_data(data)
        for sample in data['data_samples']:
            sample.gt_sem_seg.data = sample.gt_sem_seg.data.long()
        if training and self._needs_no_padding(data['inputs']):
            return self._forward_unpadded(**data)
        return super().forward(data, training)

    def _needs_no_padding(self, images: Sequence[Tensor]) -> bool:
        shape = images[0].shape
        if self.batch_augments or any(i.shape != shape for i in images):
            return False
        if self.size is not None:
            return shape[1] >= self.size[-2] and shape[2] >= self.size[-1]
        divisor = self.size_divisor or 1
        return shape[1] % divisor == shape[2] % divisor == 0

    def _forward_unpadded(
        self, inputs: Sequence[Tensor], data_samples: Sequence
    ) -> dict[str, Any]:
        """Do what the stock class does, in a third of the copies.

        Every plane is written once, into its place in the batch.
        """
        batch = torch.empty(
            (len(inputs), *inputs[0].shape), device=inputs[0].device
        )
        # The two package lines name this switch differently.
        swap = getattr(self, 'channel_conversion', None) or getattr(
            self, '_channel_conversion', False
        )
        channels = list(range(len(inputs[0])))
        order = channels[::-1] if swap and len(channels) == 3 else channels
        for image, out in zip(inputs, batch):
            for c, source in enumerate(order):
                if self._enable_normalize:
                    torch.sub(image[source], self.mean[c], out=out[c])
                    out[c].div_(self.std[c])
                else:
                    out[c].copy_(image[source])
        size = tuple(batch.shape[-2:])
        meta = dict(img_shape=size, pad_shape=size, padding_size=(0, 0, 0, 0))
        for sample in data_samples:
            sample.set_metainfo(meta)
        return dict(inputs=batch, data_samples=data_samples)


def is_duplet(inputs: Any) -> bool:
    """Whether collated inputs are views of images, not images."""
    return isinstance(inputs, Sequence) and isinstance(inputs[0], Sequence)


def flatten_views(views: Sequence[Sequence]) -> list:
    """Return all items of the first view, then those of the next."""
    return [item for view in views for item in view]
