from types import SimpleNamespace

import torch
from mmengine.registry import HOOKS


def draw(seed: int, iteration: int, rank: int) -> list[float]:
    runner = SimpleNamespace(seed=seed, iter=iteration, rank=rank)
    hook = HOOKS.build(dict(type='TorchSeedHook'))
    hook.before_train_iter(runner, batch_idx=0, data_batch=None)
    return torch.rand(5).tolist()


def test_torch_begins_every_iteration_anew():
    """So dropout is repeated, but differs between processes."""
    first = draw(3, 0, 0)
    others = [draw(3, 1, 0), draw(4, 0, 0), draw(3, 0, 1), draw(0, 3, 0)]
    found = [first, *others]
    assert len({tuple(numbers) for numbers in found}) == len(found)
    torch.rand(7)
    assert draw(3, 0, 0) == first
