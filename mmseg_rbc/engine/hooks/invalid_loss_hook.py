"""Stop a run whose loss is no number."""

from __future__ import annotations

import torch
from mmengine.hooks import CheckpointHook, Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner


@HOOKS.register_module()
class InvalidLossHook(Hook):
    """Raise as soon as the loss is NaN or infinite.

    It runs before a checkpoint is written, so the last checkpoint is a good
    one.

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
        """Check the loss now and then, and before a checkpoint."""
        if not outputs or not (
            self.every_n_train_iters(runner, self.interval)
            or self.is_last_train_epoch_iter(runner, batch_idx)
            or self._is_saved(runner)
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
        """Whether a checkpoint may follow that counts epochs."""
        return batch_idx + 1 == len(runner.train_dataloader)

    @staticmethod
    def _is_saved(runner: Runner) -> bool:
        """Whether a checkpoint follows that counts iterations."""
        return any(
            not hook.by_epoch
            and (
                hook.every_n_train_iters(runner, hook.interval)
                or hook.is_last_train_iter(runner)
            )
            for hook in runner.hooks
            if isinstance(hook, CheckpointHook)
        )
