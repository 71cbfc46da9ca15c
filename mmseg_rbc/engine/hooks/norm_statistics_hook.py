"""One set of running statistics for all processes."""

from __future__ import annotations

from typing import Any

from mmengine.dist import all_reduce_params
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


@HOOKS.register_module()
class NormStatisticsHook(Hook):
    """Average the running statistics of batch norms over the processes.

    Each process sees its own images, but only the statistics of the first are
    saved: what is evaluated would not be what is saved. After every
    iteration, because any may be followed by a checkpoint or an evaluation;
    they are few beside the gradients. ``SyncBatchNorm`` has the same ones
    everywhere, and frozen norms do not change.
    """

    priority = 'VERY_HIGH'

    def after_train_iter(self, runner: Runner, *_: Any, **__: Any) -> None:
        """Average what the iteration changed."""
        changed = [
            buffer
            for norm in runner.model.modules()
            if _has_own_statistics(norm)
            for buffer in (norm.running_mean, norm.running_var)
        ]
        if changed:
            all_reduce_params(changed, op='mean')


def _has_own_statistics(module: nn.Module) -> bool:
    return (
        isinstance(module, _BatchNorm)
        and not isinstance(module, nn.SyncBatchNorm)
        and module.training
        and module.running_mean is not None
    )
