"""Let the new rows of the classifier learn faster than the rest."""

from __future__ import annotations

from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from torch import Tensor

from mmseg_rbc.models.classifier import is_classifier
from mmseg_rbc.utils.weights import network_of


@HOOKS.register_module()
class NewRowsHook(Hook):
    """Multiply the learning rate of the classifier's new rows.

    A new row starts as a copy of background and is slow to leave it; a faster
    classifier as a whole would destroy its old rows. A learning rate belongs
    to a whole tensor, so the update of the new rows is stretched after each
    step of the optimizer, which is the same for every optimizer whose update
    is proportional to its learning rate. In step 0 nothing is done.

    Args:
        factor: Of the learning rate.
    """

    def __init__(self, factor: float) -> None:
        if not factor > 0:
            raise ValueError(
                f'the factor of new rows is {factor}, not above 0'
            )
        self.factor = factor

    def before_train(self, runner: Runner) -> None:
        """Attach to the optimizer."""
        model = network_of(runner)
        num_old = model.num_old
        self._rows = [
            parameter.data[num_old:]
            for name, parameter in model.named_parameters()
            if num_old and is_classifier(name)
        ]
        optimizer = runner.optim_wrapper.optimizer
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]

    def after_train(self, runner: Runner) -> None:
        """Let go of the optimizer."""
        for handle in self._handles:
            handle.remove()

    def _before_step(self, *_: Any) -> None:
        self._before: list[Tensor] = [rows.clone() for rows in self._rows]

    @torch.no_grad()
    def _after_step(self, *_: Any) -> None:
        for rows, before in zip(self._rows, self._before):
            rows.add_(rows - before, alpha=self.factor - 1)
