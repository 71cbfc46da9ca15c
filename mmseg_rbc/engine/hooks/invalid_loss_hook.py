"""Stop a run whose loss is no number."""

from __future__ import annotations

import math
import os.path as osp
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner

from mmseg_rbc.utils.weights import network_of

# A step that is resumed keeps its learning rate.
ADVICE = (
    'look at the images; clip gradients and continue with --resume from the '
    'last checkpoint, or lower the learning rate and run the step again '
    'without --resume'
)
MAX_NAMES = 16


@HOOKS.register_module()
class InvalidLossHook(Hook):
    """Raise as soon as the loss or, at a checkpoint, a weight is no number.

    So the last checkpoint is a good one. The loss of every iteration is
    checked: MMEngine's ``RuntimeInfoHook`` waits for its value anyway.
    """

    priority = 'VERY_HIGH'

    def __init__(self) -> None:
        self._where = 'before the first iteration'

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: dict | None = None,
    ) -> None:
        """Check the losses of an iteration."""
        self._where = (
            f'in epoch {runner.epoch + 1}, iteration {runner.iter + 1}, on '
            f'the images {_listed(image_names(data_batch))}'
        )
        values = {
            name: value.item()
            for name, value in (outputs or {}).items()
            if 'loss' in name
        }
        bad = {k: v for k, v in values.items() if not math.isfinite(v)}
        if bad:
            raise self._error(runner, f'the loss is not finite ({bad})')

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Check the weights: a finite loss may have an infinite gradient."""
        model = network_of(runner)
        for name, weight in model.named_parameters():
            if not torch.isfinite(weight).all():
                what = f'the weight {name} is not finite'
                raise self._error(runner, what)

    def _error(self, runner: Runner, what: str) -> FloatingPointError:
        step = runner.train_dataloader.dataset.metainfo.get('step', 0)
        return FloatingPointError(
            f'step {step}: {what} {self._where}: {ADVICE}'
        )


def _listed(names: Iterable[str]) -> str:
    names = list(dict.fromkeys(names))
    more = len(names) - MAX_NAMES
    shown = ', '.join(names[:MAX_NAMES])
    return f'{shown} and {more} more' if more > 0 else shown


def image_names(batch: Any) -> Iterator[str]:
    """Yield the names of the images of a batch, those of duplets twice."""
    if isinstance(batch, dict):
        batch = batch.get('data_samples')
    if isinstance(batch, (list, tuple)):
        for part in batch:
            yield from image_names(part)
    elif hasattr(batch, 'metainfo'):
        yield osp.basename(batch.metainfo.get('img_path', 'without a name'))
