"""Make an epoch repeatable."""

from __future__ import annotations

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import EpochBasedTrainLoop, Runner

from mmseg_rbc.datasets import seed_datasets


@HOOKS.register_module()
class EpochSeedHook(Hook):
    """Let all randomness of an epoch depend on the seed and the epoch.

    MMEngine resumes counters but no random state. With this hook the
    augmentation of a sample depends on ``(seed, epoch, index)``, not on the
    worker or process that draws it, and the torch state of the main process
    starts every epoch anew: a resumed run equals an uninterrupted one, and
    the number of workers or processes does not change the data.

    Loops that count iterations are left alone.
    """

    def before_train_epoch(self, runner: Runner) -> None:
        """Seed samples and torch."""
        if not isinstance(runner.train_loop, EpochBasedTrainLoop):
            return
        seed_datasets(
            runner.train_dataloader.dataset, runner.seed, runner.epoch
        )
        torch.manual_seed(hash((runner.seed, runner.epoch, runner.rank)))
