"""Say how much each loss pulls at the weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from torch import Tensor, nn

from mmseg_rbc.utils.weights import network_of


@HOOKS.register_module()
class GradientShareHook(Hook):
    """Log the share of each loss in the gradient, once, early in a step.

    A weight that does not fit the network shows here: see docs/tuning.md. The
    gradients are those of one batch; the training does not notice.

    Args:
        iteration: The iteration, counted from 0. At 0 losses between student
            and teacher are still zero.
    """

    def __init__(self, iteration: int = 10) -> None:
        self.iteration = iteration

    def before_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | None = None
    ) -> None:
        """Compute the gradients of a copy of the batch."""
        if runner.iter != self.iteration or not data_batch:
            return
        model = network_of(runner)
        try:
            with unnoticed(model), runner.optim_wrapper.optim_context(model):
                batch = copy.deepcopy(data_batch)
                data = model.data_preprocessor(batch, training=True)
                norms = gradient_norms(model, model.loss(**data))
        except RuntimeError as error:
            # Activation checkpointing (with_cp) gives no partial gradients,
            # and memory may be short: no reason to end a training.
            what = str(error).splitlines()[0]
            runner.logger.info(f'the share of each loss is not known: {what}')
            return
        total = sum(norms.values()) or 1.0
        shares = ', '.join(
            f'{name} {100 * norm / total:.0f} % (norm {norm:.3g})'
            for name, norm in norms.items()
        )
        runner.logger.info(f'share of each loss in the gradient: {shares}')


def gradient_norms(
    model: nn.Module, losses: Mapping[str, Tensor]
) -> dict[str, float]:
    """Return the norm of the gradient of each loss over all weights."""
    weights = [p for p in model.parameters() if p.requires_grad]
    norms = {}
    for name, loss in losses.items():
        if 'loss' in name and loss.requires_grad:
            gradients = torch.autograd.grad(
                loss, weights, retain_graph=True, allow_unused=True
            )
            squares = [
                g.float().square().sum() for g in gradients if g is not None
            ]
            norms[name] = float(torch.stack(squares).sum().sqrt())
    return norms


@contextmanager
def unnoticed(model: nn.Module) -> Iterator[None]:
    """Restore running statistics and random state afterwards."""
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    try:
        with torch.random.fork_rng():
            yield
    finally:
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
