"""Make the randomness of the network repeatable."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner


@HOOKS.register_module()
class TorchSeedHook(Hook):
    """Let dropout depend on the seed, the iteration and the process alone.

    MMEngine resumes counters but no random state. With this hook a resumed
    run equals an uninterrupted one, at every iteration. Samples have their
    own randomness: see :mod:`mmseg_rbc.datasets.draws`.
    """

    def before_train_iter(self, runner: Runner, *_: Any, **__: Any) -> None:
        """Seed torch, after the batch was loaded."""
        key = (runner.seed, runner.iter, runner.rank)
        words = np.random.SeedSequence(key).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]))
