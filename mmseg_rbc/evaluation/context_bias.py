"""How much old classes depend on new ones beside them.

RBC's claim as numbers. Of a network: what happens to pixels of old classes
when the new classes are erased from the picture. Of the data: how often old
classes come with new ones in a later step, against step 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mmseg_rbc.tasks import IGNORE_INDEX, Task

from .metrics.continual_iou import count_pixels, intersection_over_union

MEASURES = ('flipped', 'right', 'lost', 'probability_drop', 'iou_drop')


class ContextBias:
    """Compare predictions with and without the new classes.

    Images count that hold both old and new classes, and of them the pixels
    that are not erased.

    Args:
        num_old: O, background included.
        num_classes: K.
    """

    def __init__(self, num_old: int, num_classes: int) -> None:
        self.num_old = num_old
        self.num_classes = num_classes
        self.num_images = 0
        # By class: pixels, flipped ones, right ones, right ones that turn
        # wrong, and drops of probability.
        self.sums = torch.zeros(5, num_classes, dtype=torch.float64)
        self.counts = np.zeros((2, 3, num_classes), np.int64)

    def erase(self, image: Tensor, label: Tensor) -> Tensor | None:
        """Return an image without its new classes, None if it is not used.

        Args:
            image: ``(3, h, w)`` before normalization.
            label: ``(H, W)``; its size may differ from the image's.
        """
        is_new = (label >= self.num_old) & (label != IGNORE_INDEX)
        is_old = (label > 0) & (label < self.num_old)
        if not (is_new.any() and is_old.any()):
            return None
        size = (image.shape[-2], image.shape[-1])
        mask = F.interpolate(is_new[None, None].float(), size, mode='nearest')
        return image.masked_fill(mask[0, 0].bool(), 0)

    def update(self, full: Tensor, erased: Tensor, label: Tensor) -> None:
        """Add one image.

        Args:
            full: ``(K, H, W)`` logits of the image.
            erased: The same without the new classes.
            label: ``(H, W)``.
        """
        self.num_images += 1
        kept = label < self.num_old
        label = label[kept]
        views = [logits[:, kept] for logits in (full, erased)]
        predictions = [logits.argmax(0) for logits in views]
        for i, prediction in enumerate(predictions):
            self.counts[i] += count_pixels(prediction, label, self.num_classes)
        chosen = [
            logits.softmax(0).gather(0, label[None])[0] for logits in views
        ]
        flipped = predictions[0] != predictions[1]
        right = predictions[0] == label
        values = (
            torch.ones_like(chosen[0]),
            flipped,
            right,
            right & flipped,
            chosen[0] - chosen[1],
        )
        for row, value in zip(self.sums, values):
            row.index_add_(0, label, value.to(torch.float64))

    def result(self, classes: Iterable[str]) -> dict[str, Any]:
        """Return the numbers in per cent.

        Returns:
            ``num_images``; for every old class but background its
            ``pixels``, the share of them that is ``flipped``, the share of
            the ``right`` ones that is ``lost``, the mean
            ``probability_drop`` of the true class, and ``iou_drop``; and
            their ``mean`` over classes that have them. A network that has
            forgotten a class has nothing to flip in it: see ``right``.
        """
        pixels, flipped, right, lost, drop = self.sums.tolist()
        iou_full, iou_erased = map(intersection_over_union, self.counts)
        by_class = {}
        for c, name in enumerate(classes):
            if 0 < c < self.num_old and pixels[c]:
                by_class[name] = dict(
                    pixels=int(pixels[c]),
                    flipped=100 * flipped[c] / pixels[c],
                    right=100 * right[c] / pixels[c],
                    lost=100 * lost[c] / right[c] if right[c] else None,
                    probability_drop=100 * drop[c] / pixels[c],
                    iou_drop=100 * float(iou_full[c] - iou_erased[c]),
                )
        mean = {}
        for key in MEASURES:
            known = [
                row[key] for row in by_class.values() if row[key] is not None
            ]
            mean[key] = sum(known) / len(known) if known else None
        return dict(num_images=self.num_images, mean=mean, by_class=by_class)


@torch.no_grad()
def measure_network(
    model: Any,
    dataset: Iterable[dict],
    num_old: int,
) -> dict[str, Any]:
    """Measure the context bias of a network.

    Args:
        model: A segmentor in eval mode with ``dataset_meta``.
        dataset: What an evaluation data set yields: ``inputs``
            ``(3, H, W)`` and ``data_samples`` with labels.
        num_old: The classes that stay; all later ones are erased.
    """
    classes = model.dataset_meta['classes']
    bias = ContextBias(num_old, len(classes))
    for sample in dataset:
        label = sample['data_samples'].gt_sem_seg.data[0].long()
        erased = bias.erase(sample['inputs'], label)
        if erased is not None:
            again = sample['data_samples'].clone()
            data = model.data_preprocessor(
                dict(
                    inputs=[sample['inputs'], erased],
                    data_samples=[sample['data_samples'].clone(), again],
                ),
                training=False,
            )
            samples = data['data_samples']
            metas = [sample.metainfo for sample in samples]
            logits = model.inference(data['inputs'], metas)
            # Padding is cut off, and the size is that of the label.
            results = model.postprocess_result(logits, samples)
            full, without = (r.seg_logits.data.float().cpu() for r in results)
            bias.update(full, without, label)
    return bias.result(classes)


def co_occurrence(
    index: np.ndarray, rows: Iterable[int], columns: Iterable[int]
) -> np.ndarray:
    """Return how often a class comes with another, in per cent.

    Args:
        index: ``(images, classes)`` bool.
        rows: Class ids c.
        columns: Class ids n.

    Returns:
        ``100 P(n in the image | c in the image)``, NaN without c.
    """
    table = []
    for c in rows:
        images = index[index[:, c]]
        shares = images[:, list(columns)].mean(0) if len(images) else math.nan
        table.append(100 * np.broadcast_to(shares, len(list(columns))))
    return np.array(table)


def data_bias(
    index: np.ndarray,
    selected: list[np.ndarray],
    task: Task,
) -> dict[str, np.ndarray]:
    """Compare what old classes come with in step 0 and in later steps.

    Args:
        index: ``(images, classes)`` bool, of all training images.
        selected: Positions of the images of each step.
        task: The task.

    Returns:
        ``base`` and ``later``, both ``(C, L)`` per cent: of the images with
        a class c of step 0, how many hold a class n of a later step, among
        the images of step 0 and among those of the step of n.
    """
    rows = task.new(0)[1:]
    columns = [c for step in range(1, task.num_steps) for c in task.new(step)]
    base = co_occurrence(index[selected[0]], rows, columns)
    later = np.concatenate(
        [
            co_occurrence(index[selected[step]], rows, task.new(step))
            for step in range(1, task.num_steps)
        ],
        axis=1,
    )
    return dict(base=base, later=later)
