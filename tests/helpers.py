"""Functions and hooks that several tests of whole runs share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

from mmseg_rbc.runs import StepDir, WorkDir
from mmseg_rbc.utils.files import write_json, write_text

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


NAMES = ['background', 'cat', 'dog', 'cow', 'bus']
# What the RBC paper trained, as far as it is compared.
PAPERS_CONFIG = """
train_dataloader = dict(
    dataset=dict(
        type='RepeatDataset',
        dataset=dict(
            type='ContinualVOCDataset',
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='RandomResizedCrop', crop_size=[512, 512]),
                dict(type='Other', crop_size=3)])))
model = dict(
    backbone=dict(type='ResNet', depth=101),
    decode_head=dict(type='ASPPHead'))
"""


def write_run(
    path: Path,
    classes: Sequence[str] = NAMES,
    sizes: Sequence[int] = (3, 4, 5),
    task: str = '2-1',
    level: float = 50.0,
    seed: object = 0,
    iou: Mapping[str, object] | None = None,
    config: str = 'a = 1\n',
    **finished: object,
) -> WorkDir:
    """Write a work dir as tools/train.py leaves it, without networks.

    Step t knows the first ``sizes[t]`` classes; the IoU of class i in it is
    ``level - 10 t + i``, or what ``iou`` says.
    """
    folder = WorkDir(str(path))
    done = dict(
        seed=seed,
        seconds=61.0,
        peak_memory_mb=100,
        versions=dict(torch='2', device='cpu'),
    )
    for step, size in enumerate(sizes):
        files = folder.step(step)
        values = {c: level - 10 * step + i for i, c in enumerate(classes)}
        metrics = dict(
            task=task,
            setting='overlapped',
            step=step,
            num_base=sizes[0] if len(sizes) > 1 else 3,
            IoU={c: dict(values, **(iou or {}))[c] for c in classes[:size]},
        )
        write_json(files.metrics, metrics)
        write_text(files.config, config)
        _write_log(files)
        files.write_finished(dict(done, step=step, **finished))
    folder.write_summary(task, len(sizes), [])
    return folder


def _write_log(files: StepDir) -> None:
    """Write losses 1 and 1/2 as MMEngine does; a killed run ends like it."""
    lines = [dict(iter=1, loss=1.0), dict(iter=2, loss=0.5), dict(mIoU=3)]
    text = '\n'.join(map(json.dumps, lines)) + '\n{"iter": 3, "lo'
    write_text(f'{files.path}/stamp/vis_data/scalars.json', text)
    assert len(files.scalars()) == 1
