"""Mean IoU of old, new and all classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from mmengine.evaluator import BaseMetric
from mmengine.logging import print_log
from mmseg.registry import METRICS
from prettytable import PrettyTable
from torch import Tensor

from mmseg_rbc.tasks import IGNORE_INDEX, NOT_LEARNED, is_background
from mmseg_rbc.utils.environment import environment
from mmseg_rbc.utils.files import write_json


@METRICS.register_module()
class ContinualIoUMetric(BaseMetric):
    """IoU of every class, and its mean over the groups old, new and all.

    Group ``old`` is step 0 with background, ``new`` everything learned later.
    Pixels count whose label is a seen class; a class without such pixels is
    left out of the means, and so is class 0 where it is no background but
    what is not learned yet: it would be another class in every step. A class
    0 of another name is a class, and counts without background too. What an
    unseen class counts as, and which images are evaluated, is up to the data
    set. Label K says that a pixel is none of the new classes: to predict one
    of them there is an error of that class.

    Args:
        background: Whether background counts in the means that are returned.
            The file always holds both.
        out_file: JSON file for the result, written atomically.
        num_base: Classes of group ``old``, background included; those of
            step 0 by default.
        record: What else to write into the file: where the result comes from.
            By default what is known here, see :func:`.environment`.
        kwargs: See ``BaseMetric``.
    """

    def __init__(
        self,
        background: bool = True,
        out_file: str | None = None,
        num_base: int | None = None,
        record: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.background = background
        self.out_file = out_file
        self.num_base = num_base
        self.record = record

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Count the pixels of every image."""
        num_classes = len(self.dataset_meta['classes'])
        for sample in data_samples:
            prediction = sample['pred_sem_seg']['data'].squeeze()
            label = sample['gt_sem_seg']['data'].squeeze().to(prediction)
            counts = count_pixels(prediction, label, num_classes)
            num_old = self.dataset_meta.get('num_old', 0)
            counts[1, num_old:] += count_wrong_new(
                prediction[label == num_classes], num_old, num_classes
            )
            self.results.append(counts)

    def compute_metrics(self, results: list[np.ndarray]) -> dict[str, float]:
        """Compute, log and write the result.

        Returns:
            Per cent: ``mIoU`` and ``mIoU_all`` (the same), ``mIoU_old``,
            ``mIoU_new`` (from step 1 on), and ``IoU.<class>``.
        """
        iou = 100 * intersection_over_union(np.sum(results, axis=0))
        classes = self.dataset_meta['classes']
        if classes[0] == NOT_LEARNED:
            iou[0] = math.nan
        groups = self._groups(len(classes))
        is_class = not is_background(classes[0])
        means = {
            background: {
                name: mean_iou(iou, indices, background or is_class)
                for name, indices in groups.items()
            }
            for background in (True, False)
        }
        self._log(iou, means[self.background])
        if self.out_file:
            report = self._report(iou, means, len(results))
            write_json(self.out_file, report)
        chosen = means[self.background]
        metrics = {'mIoU': chosen['all']}
        metrics.update({f'mIoU_{name}': v for name, v in chosen.items()})
        metrics.update({f'IoU.{c}': v for c, v in zip(classes, iou.tolist())})
        return {k: round(v, 2) for k, v in metrics.items() if v == v}

    def _groups(self, num_classes: int) -> dict[str, range]:
        """Return the class indices of the groups that are not empty."""
        base = self.num_base or self.dataset_meta.get('num_base', num_classes)
        groups = dict(
            old=range(base),
            new=range(base, num_classes),
            all=range(num_classes),
        )
        return {name: indices for name, indices in groups.items() if indices}

    def _report(
        self, iou: np.ndarray, means: dict[bool, dict], num_images: int
    ) -> dict:
        meta = self.dataset_meta
        keys = ('task', 'setting', 'step', 'unseen', 'eval_images', 'new')
        classes = meta['classes']
        return dict(
            {key: meta[key] for key in keys if key in meta},
            num_images=num_images,
            num_base=len(self._groups(len(classes))['old']),
            mIoU=means[True],
            mIoU_without_background=means[False],
            IoU=dict(zip(classes, iou.tolist())),
            **(environment() if self.record is None else self.record),
        )

    def _log(self, iou: np.ndarray, means: dict[str, float]) -> None:
        table = PrettyTable(['class', 'IoU'])
        rows = [*zip(self.dataset_meta['classes'], iou.tolist())]
        rows += [(f'mean of {name}', value) for name, value in means.items()]
        for name, value in rows:
            table.add_row([name, f'{value:.2f}'])
        print_log(f'\n{table.get_string()}', 'current')


def count_pixels(
    prediction: Tensor, label: Tensor, num_classes: int
) -> np.ndarray:
    """Count the pixels of one image.

    Returns:
        ``(3, K)`` int64: correct, predicted and labeled pixels of every
        class, over the pixels whose label is below K.
    """
    valid = (label < num_classes) & (label != IGNORE_INDEX)
    prediction, label = prediction[valid], label[valid]
    rows = (prediction[prediction == label], prediction, label)
    counts = [torch.bincount(row, minlength=num_classes) for row in rows]
    return torch.stack(counts).cpu().numpy()


def count_wrong_new(
    prediction: Tensor, num_old: int, num_classes: int
) -> np.ndarray:
    """Count new classes where there is none of them.

    Returns:
        ``(N,)`` int64: predicted pixels of every new class; 0 in step 0,
        where all classes are learned with labels of all of them.
    """
    counts = torch.bincount(prediction, minlength=num_classes)[num_old:]
    return (counts * (num_old > 0)).cpu().numpy()


def intersection_over_union(counts: np.ndarray) -> np.ndarray:
    """Return ``TP / (GT + Pred - TP)`` of every class, NaN without GT.

    Args:
        counts: ``(3, K)``, see :func:`count_pixels`.
    """
    correct, predicted, labeled = counts.astype(np.float64)
    iou = correct / np.maximum(labeled + predicted - correct, 1)
    return np.where(labeled > 0, iou, np.nan)


def mean_iou(
    iou: np.ndarray, indices: Sequence[int], background: bool = True
) -> float:
    """Return the mean over a group; NaN if none of its classes occurs."""
    values = iou[[i for i in indices if background or i != 0]]
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else math.nan
