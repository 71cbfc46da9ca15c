"""Fusion of the networks before and after a step."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from mmseg.registry import TASK_UTILS
from torch import Tensor

from mmseg_rbc.models.classifier import is_classifier
from mmseg_rbc.utils.values import check_number


def fuse_state_dict(
    old: Mapping[str, Tensor], new: Mapping[str, Tensor], share: float
) -> dict[str, Tensor]:
    """Return a network between those of step t-1 and step t.

    ``(1 - a) theta_{t-1} + a theta_t`` for weights, biases and statistics of
    norms; of a classifier for its O old rows, while its new ones stay as they
    were trained, and so do counters.

    Args:
        old: State of step t-1, with O classes.
        new: State of step t, with K classes.
        share: a. Exactly 1 gives ``new``, and 0 ``old`` with new rows; what
            both have in common stays as it is.
    """
    fused = {}
    for key, trained in new.items():
        fused[key] = trained.clone()
        if key in old and trained.is_floating_point():
            rows = len(old[key]) if is_classifier(key) else None
            part = fused[key][:rows] if rows else fused[key]
            before = old[key].to(part)
            part.copy_(torch.lerp(before, part, share))
    return fused


@TASK_UTILS.register_module()
class EndpointsFusion:
    """How the networks before and after a step are fused (EWF).

    Args:
        share: a of :func:`fuse_state_dict`; ``sqrt(N / K)`` by default, with
            N new classes of the K seen so far, background among these.
        fix_old_rows: Whether the old rows of the classifier do not change
            while a step trains.
    """

    def __init__(
        self, share: float | None = None, fix_old_rows: bool = True
    ) -> None:
        if share is not None:
            check_number(share, 'the share of fusion', 0, 1)
        self._share = share
        self.fix_old_rows = fix_old_rows

    def share(self, num_old: int, num_seen: int) -> float:
        """Return a for O old ones of K classes."""
        if self._share is not None:
            return self._share
        return math.sqrt((num_seen - num_old) / num_seen)
