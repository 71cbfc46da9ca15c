"""Fuse the network of a step with that of the step before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from mmengine.hooks import EMAHook, Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from mmseg.registry import TASK_UTILS
from torch import Tensor

from mmseg_rbc.models.classifier import is_classifier
from mmseg_rbc.models.fusion import fuse_state_dict
from mmseg_rbc.utils.checkpoint import load_checkpoint
from mmseg_rbc.utils.weights import network_of


@HOOKS.register_module()
class FusionHook(Hook):
    """Hold the old rows of the classifier, and fuse after the last iteration.

    Before the last evaluation, so that it is the fused network which is
    evaluated, saved as ``final.pth`` and the teacher of the next step.
    Checkpoints to resume from are written before and hold the network as it
    was trained: whatever stops a run, fusion happens once, from these. A
    checkpoint that another hook writes later says ``fused``.

    Args:
        fusion: Its config, such as ``dict(type='EndpointsFusion')``.
        previous: Checkpoint of the previous step.
    """

    # After ImportanceHook, which looks at the weights as they were trained.
    priority = 'LOW'

    def __init__(self, fusion: Mapping[str, Any], previous: str) -> None:
        self.fusion = TASK_UTILS.build(dict(fusion))
        self.previous = previous
        self._is_fused = self._is_training = False
        self._handles: list[Any] = []

    def before_run(self, runner: Runner) -> None:
        """Raise for averaged weights, which would be saved, not fused."""
        if any(isinstance(hook, EMAHook) for hook in runner.hooks):
            raise ValueError(
                'method.fusion cannot go with EMAHook, whose averaged weights '
                'would be evaluated and saved instead of the fused ones: '
                'leave one of the two out'
            )

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Recognize a network that is fused already."""
        self._is_fused = checkpoint.get('fused', False)

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Say whether the network is fused."""
        checkpoint['fused'] = self._is_fused

    def before_train(self, runner: Runner) -> None:
        """Fix the old rows; weights are initialized or resumed by now."""
        self._is_training = True
        model = network_of(runner)
        parameters = [
            parameter
            for name, parameter in model.named_parameters()
            if is_classifier(name) and parameter.requires_grad
        ]
        if not self.fusion.fix_old_rows:
            return
        num_old = model.num_old
        self._rows = [parameter.data[:num_old] for parameter in parameters]
        optimizer = runner.optim_wrapper.optimizer
        self._handles = [
            optimizer.register_step_pre_hook(self._before_step),
            optimizer.register_step_post_hook(self._after_step),
        ]
        # Not only put back: clipping must not count what has no effect.
        for parameter in parameters:
            hook = parameter.register_hook(lambda g: _without(g, num_old))
            self._handles.append(hook)

    def _before_step(self, *_: Any) -> None:
        self._fixed = [rows.clone() for rows in self._rows]

    @torch.no_grad()
    def _after_step(self, *_: Any) -> None:
        # Momentum and weight decay moved them.
        for rows, fixed in zip(self._rows, self._fixed):
            rows.copy_(fixed)

    def before_val(self, runner: Runner) -> None:
        """Fuse before the evaluation that ends the training."""
        if self._is_training and runner.iter >= runner.max_iters:
            self._fuse(runner)

    def after_train(self, runner: Runner) -> None:
        """Fuse if nothing was evaluated, as when the end is resumed."""
        for handle in self._handles:
            handle.remove()
        self._fuse(runner)
        self._is_training = False

    def _fuse(self, runner: Runner) -> None:
        if self._is_fused:
            return
        model = network_of(runner)
        old = load_checkpoint(self.previous)['state_dict']
        share = self.fusion.share(model.num_old, model.num_classes)
        fused = fuse_state_dict(old, model.state_dict(), share)
        model.load_state_dict(fused)
        self._is_fused = True
        runner.logger.info(
            f'fused: {share:.3f} of the trained network, the rest of '
            f'{self.previous}'
        )


def _without(gradient: Tensor, num_old: int) -> Tensor:
    """Return a gradient that leaves the first rows alone."""
    gradient = gradient.clone()
    gradient[:num_old] = 0
    return gradient
