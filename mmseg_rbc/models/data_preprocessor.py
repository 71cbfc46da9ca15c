"""Turn a batch of duplets into a batch of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmseg.models import SegDataPreProcessor
from mmseg.registry import MODELS


@MODELS.register_module()
class DupletDataPreProcessor(SegDataPreProcessor):
    """Flatten duplets view by view, then do as ``SegDataPreProcessor``.

    ``[(full x N), (erased x N)]`` becomes ``(2N, 3, H, W)``, the full views
    first, so that ``chunk(2)`` separates them. A batch of single images is
    left to the stock class.
    """

    def forward(self, data: dict, training: bool = False) -> dict[str, Any]:
        """Flatten and preprocess a batch."""
        if is_duplet(data['inputs']):
            data = {key: flatten_views(views) for key, views in data.items()}
            data = self.cast_data(data)
            for sample in data['data_samples']:
                sample.gt_sem_seg.data = sample.gt_sem_seg.data.long()
        return super().forward(data, training)


def is_duplet(inputs: Any) -> bool:
    """Whether collated inputs are views of images, not images."""
    return isinstance(inputs, Sequence) and isinstance(inputs[0], Sequence)


def flatten_views(views: Sequence[Sequence]) -> list:
    """Return all items of the first view, then those of the next."""
    return [item for view in views for item in view]
