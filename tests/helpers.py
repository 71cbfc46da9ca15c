"""Functions and hooks that several tests of whole runs share."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

TESTS = Path(__file__).parent

# The tasks of the published tables, by number of foreground classes.
BENCHMARK_TASKS = {
    20: ('offline', '19-1', '15-5', '15-1', '10-1', '5-3', '2-2'),
    150: ('offline', '100-50', '100-10', '100-5', '50-50'),
}


def weights(path: Path) -> dict:
    return torch.load(path, weights_only=True)['state_dict']


def assert_equal_weights(a: dict, b: dict, tolerance: float = 0) -> None:
    assert a.keys() == b.keys()
    for key in a:
        torch.testing.assert_close(a[key], b[key], rtol=0, atol=tolerance)


class Stop(Exception):
    pass


@HOOKS.register_module()
class StopHook(Hook):
    """Stop after an iteration, before anything is saved."""

    priority = 'VERY_HIGH'

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def after_train_iter(self, runner, *args, **kwargs) -> None:
        if runner.iter + 1 == self.iteration:
            raise Stop


def run_tool(*args: str, processes: int = 1) -> str:
    """Run a Python file, under torchrun if in several processes."""
    launcher = []
    if processes > 1:
        launcher = ['-m', 'torch.distributed.run', '--standalone']
        launcher += [f'--nproc_per_node={processes}']
    done = subprocess.run(
        [sys.executable, *launcher, *args],
        capture_output=True,
        text=True,
        check=False,
        env=dict(
            os.environ,
            OMP_NUM_THREADS='1',
            PYTHONPATH=str(TESTS / 'engine'),
        ),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
