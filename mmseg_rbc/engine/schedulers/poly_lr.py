"""The learning-rate schedule of the published code."""

from __future__ import annotations

from typing import Any

from mmengine.optim import PolyLR
from mmengine.registry import PARAM_SCHEDULERS


@PARAM_SCHEDULERS.register_module()
class PublishedPolyLR(PolyLR):
    """``lr_0 (1 - t / T)^power`` at iteration t of T, t from 0 to T - 1.

    MMEngine's ``PolyLR`` reaches ``eta_min`` at the last iteration already.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.total_iters += 1
