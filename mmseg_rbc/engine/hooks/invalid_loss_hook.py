"""Stop a run whose loss is no number."""

from __future__ import annotations

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner


@HOOKS.register_module()
class InvalidLossHook(Hook):
    """Raise as soon as the loss is NaN or infinite.

    It runs before the checkpoint of an epoch is written, so the last
    checkpoint is a good one.

    Args:
        interval: Iterations between two checks; a check waits for the GPU.
    """

    priority = 'VERY_HIGH'

    def __init__(self, interval: int = 50) -> None:
        self.interval = interval

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: dict | None = None,
    ) -> None:
        """Check the loss now and then, and at the end of an epoch."""
        last = self.is_last_train_epoch_iter(runner, batch_idx)
        if not outputs or not (
            last or self.every_n_train_iters(runner, self.interval)
        ):
            return
        bad = {
            name: float(value)
            for name, value in outputs.items()
            if 'loss' in name and not torch.isfinite(value).all()
        }
        if bad:
            raise RuntimeError(
                f'the loss is not finite in epoch {runner.epoch + 1}, '
                f'iteration {runner.iter + 1} ({bad}): lower the learning '
                'rate or clip gradients, then continue with --resume from the '
                'last checkpoint'
            )

    @staticmethod
    def is_last_train_epoch_iter(runner: Runner, batch_idx: int) -> bool:
        """Whether a checkpoint may follow this iteration."""
        return batch_idx + 1 == len(runner.train_dataloader)
