"""Wire a regularizer to optimizer and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from mmseg.registry import TASK_UTILS
from torch import Tensor

from mmseg_rbc.models.regularizers import ImportanceState
from mmseg_rbc.runs import StepDir
from mmseg_rbc.utils.checkpoint import load_checkpoint, save_checkpoint
from mmseg_rbc.utils.weights import network_of


@HOOKS.register_module()
class ImportanceHook(Hook):
    """Gather importance, and hold important weights back (EWC, PI, RW).

    It acts when the optimizer is about to step. By then DDP has averaged the
    gradients over processes and AMP has unscaled them, and they are those of
    the task alone; the penalty is added as a gradient after that, so the
    importance never sees it. Clipping, if any, comes before both. (Fused
    optimizers unscale later: do not use them with AMP here.)

    What was gathered travels in every checkpoint of the step; what the next
    step needs is written to ``importance.pth`` when training ends.

    Args:
        regularizer: Its config, such as ``dict(type='EWC')``.
        previous: Checkpoint of the previous step, from step 1 on.
        interval: Iterations between two values of ``penalty`` in the log.
    """

    def __init__(
        self,
        regularizer: Mapping[str, Any],
        previous: str | None = None,
        interval: int = 50,
    ) -> None:
        self.regularizer = TASK_UTILS.build(dict(regularizer))
        self.previous = previous
        self.interval = interval
        self._resumed: dict[str, Any] | None = None
        self._has_ended = False

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Keep what a stopped run had gathered."""
        self._resumed = checkpoint.get('importance')

    def before_run(self, runner: Runner) -> None:
        """Ask for the previous weights; runs before they are read."""
        network_of(runner).keeps_previous = self.previous is not None

    def before_train(self, runner: Runner) -> None:
        """Start to gather; runs after weights are initialized or resumed."""
        model = network_of(runner)
        self._parameters = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }
        ended = old_weights = None
        if self.previous is not None:
            ended = self._load_previous()
            old_weights, model.previous_state = model.previous_state, None
        self.state = ImportanceState(
            self.regularizer,
            self._weights(),
            model.num_classes,
            ended,
            old_weights,
        )
        if runner.iter > 0:
            self.state.load_state_dict(self._gathered_before())
        optimizer = runner.optim_wrapper.optimizer
        self._handle = optimizer.register_step_pre_hook(self._before_step)

    def _gathered_before(self) -> dict[str, Any]:
        """Return what the resumed run had gathered."""
        if self._resumed is None:
            raise ValueError(
                'the step to resume was begun without '
                f'{type(self.regularizer).__name__}, so its importance is not '
                'known: run it without --resume, or in another work dir'
            )
        gathered, self._resumed = self._resumed, None
        return gathered

    def _load_previous(self) -> dict[str, Any]:
        path = StepDir.of(str(self.previous)).importance
        name = type(self.regularizer).__name__
        ended = load_checkpoint(
            path,
            'the importance of the weights in the previous step',
            f'train that step with {name} too',
        )
        if ended['regularizer'] != name:
            raise ValueError(
                f'{path} was gathered by {ended["regularizer"]}, but this '
                f'step uses {name}: use another work dir'
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

    def after_train_iter(self, runner: Runner, *_: Any, **__: Any) -> None:
        """Log the penalty now and then."""
        if self.previous and self.every_n_train_iters(runner, self.interval):
            value = float(self.state.penalty(self._weights()))
            runner.message_hub.update_scalar('train/penalty', value)

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Save what was gathered."""
        checkpoint['importance'] = self.state.state_dict()

    def before_val(self, runner: Runner) -> None:
        """End with the weights of the last iteration: they may be fused."""
        if runner.iter >= runner.max_iters:
            self._end(runner)

    def after_train(self, runner: Runner) -> None:
        """End if nothing was evaluated, as when the end is resumed."""
        self._handle.remove()
        self._end(runner)

    def _end(self, runner: Runner) -> None:
        """Write what the next step needs, once."""
        if not self._has_ended and is_main_process():
            path = StepDir(runner.work_dir).importance
            save_checkpoint(self.state.end(self._weights()), path)
        self._has_ended = True
