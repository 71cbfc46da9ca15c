"""Pack one image or a duplet."""

from __future__ import annotations

import numpy as np
import torch
from mmengine.structures import PixelData
from mmseg.datasets.transforms import PackSegInputs
from mmseg.registry import TRANSFORMS


@TRANSFORMS.register_module()
class PackDupletInputs(PackSegInputs):
    """Pack the full and the erased view.

    Without an erased view it is the stock ``PackSegInputs``.

    Required Keys:

    - img
    - gt_seg_map (optional)
    - img_erased, gt_erased_map, erased_from (optional)

    Returns:
        ``inputs=[full, erased]`` and ``data_samples=[full, erased]``, which
        the stock ``pseudo_collate`` turns into ``[(full x N), (erased x N)]``.
        The labels of a duplet stay uint8, an eighth of the bytes to move
        between processes; ``DupletDataPreProcessor`` makes them int64.
    """

    def transform(self, results: dict) -> dict:
        """Pack the views."""
        if 'img_erased' not in results:
            return super().transform(results)
        if results['erased_from'] is not results['img']:
            raise ValueError(
                'a transform between NewClassErase and PackDupletInputs '
                'changed the image: put NewClassErase last before packing'
            )
        labels = results.pop('gt_seg_map')
        full = self._pack(results, results['img'], labels)
        erased = self._pack(
            results, results['img_erased'], results['gt_erased_map']
        )
        erased['data_samples'].set_metainfo(dict(view='erased'))
        return {key: [full[key], erased[key]] for key in full}

    def _pack(
        self, results: dict, image: np.ndarray, labels: np.ndarray
    ) -> dict:
        packed = super().transform({**results, 'img': image})
        data = torch.from_numpy(labels[None])
        packed['data_samples'].gt_sem_seg = PixelData(data=data)
        return packed
