from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from mmengine.registry import HOOKS

GOOD = dict(loss=torch.tensor(1.0), loss_ce=torch.tensor([0.5, 0.5]))
BAD = dict(GOOD, loss_pod=torch.tensor([float('inf')]))


def after(iteration: int, outputs: dict | None, *hooks: dict) -> None:
    """Call the hook after an iteration of epochs of 10 iterations."""
    runner = SimpleNamespace(
        iter=iteration,
        max_iters=28,
        epoch=iteration // 10,
        train_dataloader=range(10),
        hooks=[HOOKS.build(hook) for hook in hooks],
    )
    hook = HOOKS.build(dict(type='InvalidLossHook', interval=4))
    hook.after_train_iter(runner, iteration % 10, outputs=outputs)


@pytest.mark.parametrize('iteration', [3, 7, 9, 19, 23])
@pytest.mark.parametrize('value', [float('nan'), float('inf')])
def test_invalid_loss_raises_now_and_then(iteration, value):
    """Every 4 iterations, and at the end of an epoch (9 and 19)."""
    outputs = dict(GOOD, loss_ce=torch.tensor([0.5, value]).sum())
    after(iteration, GOOD)
    with pytest.raises(
        RuntimeError,
        match=f'not finite in epoch {iteration // 10 + 1}, iteration '
        rf"{iteration + 1} \({{'loss_ce': {value}}}\): lower the learning",
    ):
        after(iteration, outputs)


def test_other_iterations_do_not_wait_for_the_gpu():
    for iteration in (0, 1, 2, 4, 18, 20):
        after(iteration, BAD)


def test_checkpoints_of_iterations():
    """Every 5 iterations, and the last one."""
    checkpoint = dict(type='CheckpointHook', by_epoch=False, interval=5)
    for iteration in (1, 2, 5, 6, 16):
        after(iteration, BAD, checkpoint)
    for iteration in (4, 14, 27):
        after(iteration, GOOD, checkpoint)
        with pytest.raises(RuntimeError, match='the loss is not finite'):
            after(iteration, BAD, checkpoint)


def test_what_is_no_loss_may_be_anything():
    after(3, dict(GOOD, acc_seg=torch.tensor(float('nan'))))
    after(3, None)


def test_it_runs_before_checkpoints_are_saved():
    hook = HOOKS.get('InvalidLossHook')
    assert hook.priority == 'VERY_HIGH'
    assert HOOKS.get('CheckpointHook').priority == 'VERY_LOW'
