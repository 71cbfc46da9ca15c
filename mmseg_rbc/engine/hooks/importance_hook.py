"""Wire an importance estimator to optimiser and checkpoints."""

from __future__ import annotations

import os
import os.path as osp
from collections.abc import Mapping
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from mmengine.runner.checkpoint import _load_checkpoint
from mmseg.registry import TASK_UTILS
from torch import Tensor

from mmseg_rbc.engine.importance import ImportanceState
from mmseg_rbc.models.teacher import load_previous_step

IMPORTANCE = 'importance.pth'


@HOOKS.register_module()
class ImportanceHook(Hook):
    """Gather importance, and hold important weights back (EWC, PI, RW).

    It acts when the optimiser is about to step. By then DDP has averaged the
    gradients over processes and AMP has unscaled them, and they are those of
    the task alone; the penalty is added as a gradient after that, so the
    importance never sees it. Clipping, if any, comes before both. (Fused
    optimisers unscale later: do not use them with AMP here.)

    What was gathered travels in every checkpoint of the step; what the next
    step needs is written to ``importance.pth`` when training ends.

    Args:
        estimator: Config of the estimator, such as ``dict(type='EWC')``.
        previous: Checkpoint of the previous step, from step 1 on.
        interval: Iterations between two values of ``penalty`` in the log.
    """

    def __init__(
        self,
        estimator: Mapping[str, Any],
        previous: str | None = None,
        interval: int = 50,
    ) -> None:
        self.estimator = TASK_UTILS.build(dict(estimator))
        self.previous = previous
        self.interval = interval
        self._resumed: dict[str, Any] | None = None

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Keep what a stopped run had gathered."""
        if not runner._resume:
            return
        self._resumed = checkpoint.get('importance')
        if self._resumed is None:
            raise ValueError(
                'the step to resume was begun without '
                f'{type(self.estimator).__name__}, so its importance is not '
                'known: run it without --resume, or in another work dir'
            )

    def before_train(self, runner: Runner) -> None:
        """Start to gather; runs after weights are initialised or resumed."""
        model = runner.model
        model = model.module if is_model_wrapper(model) else model
        self._parameters = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }
        ended = old_weights = None
        if self.previous is not None:
            ended = self._load_previous()
            old_weights = load_previous_step(self.previous, {})['state_dict']
        self.state = ImportanceState(
            self.estimator,
            self._weights(),
            model.num_classes,
            ended,
            old_weights,
        )
        if self._resumed is not None:
            self.state.load_state_dict(self._resumed)
            self._resumed = None
        optimizer = runner.optim_wrapper.optimizer
        self._handle = optimizer.register_step_pre_hook(self._before_step)

    def _load_previous(self) -> dict[str, Any]:
        path = osp.join(osp.dirname(str(self.previous)), IMPORTANCE)
        name = type(self.estimator).__name__
        if not osp.isfile(path):
            raise FileNotFoundError(
                f'{name} needs {path}, the importance of the weights in the '
                f'previous step: train that step with {name} too'
            )
        ended = _load_checkpoint(path, map_location='cpu')
        if ended['estimator'] != name:
            raise ValueError(
                f'{path} was gathered by {ended["estimator"]}, but this step '
                f'uses {name}: use another work dir'
            )
        return ended

    def _weights(self) -> dict[str, Tensor]:
        return {name: p.detach() for name, p in self._parameters.items()}

    @torch.no_grad()
    def _before_step(self, *_: Any) -> None:
        """Gather from the task gradients, then add the penalty's."""
        weights = self._weights()
        gradients = {
            name: parameter.grad
            for name, parameter in self._parameters.items()
            if parameter.grad is not None
        }
        self.state.update(weights, gradients)
        self.state.add_penalty_gradient(weights, gradients)

    def after_train_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: dict | None = None,
        outputs: dict | None = None,
    ) -> None:
        """Log the penalty now and then."""
        if self.previous and self.every_n_train_iters(runner, self.interval):
            value = float(self.state.penalty(self._weights()))
            runner.message_hub.update_scalar('train/penalty', value)

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Save what was gathered."""
        checkpoint['importance'] = self.state.state_dict()

    def after_train(self, runner: Runner) -> None:
        """Write what the next step needs."""
        self._handle.remove()
        if runner.rank == 0:
            path = osp.join(runner.work_dir, IMPORTANCE)
            torch.save(self.state.end(self._weights()), path + '.part')
            os.replace(path + '.part', path)
