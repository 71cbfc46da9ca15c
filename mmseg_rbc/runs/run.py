"""Read finished and unfinished runs from their work dirs.

Nothing here raises for a damaged or missing file: what is there is read, and
:attr:`Run.problems` says what is not.
"""

from __future__ import annotations

import json
import os.path as osp
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mmseg_rbc.evaluation.continual_metrics import (
    context_change,
    iou_matrix,
)
from mmseg_rbc.tasks import MAX_CLASSES, is_background

from .work_dir import StepDir, WorkDir, find_work_dirs

# What the values of the files must be, where there are any.
SUMMARY_KINDS = dict(num_steps=int)
METRICS_KINDS = dict(
    IoU=dict,
    num_base=int,
    num_images=int,
    task=str,
    setting=str,
    unseen=str,
    eval_images=str,
)
FINISHED_KINDS = dict(
    seed=object,
    seconds=float,
    peak_memory_mb=float,
    versions=dict,
    shown=list,
    task=str,
    setting=str,
)
BIAS_KINDS = dict(mean=dict)
KIND_NAMES = {
    int: 'a whole number',
    float: 'a number',
    str: 'text',
    dict: 'an object',
    list: 'a list',
    object: 'a plain value',
}
# A number above it is damage, and may be one that no float can hold.
LARGEST = 1e12


@dataclass
class Run:
    """One sequence, as far as it got.

    Attributes:
        path: Its work dir.
        name: Name of the config or folder; runs of one name differ by seed.
        num_steps: Steps of the task.
        metrics: Content of ``metrics.json`` of each step, empty if missing.
        finished: Content of ``finished.json`` of each step, empty if missing.
        scalars: Logged values of each step, in the order of iterations.
        context_bias: Result of ``context_bias.py`` for the newest step that
            has one, empty without.
        problems: What is missing or damaged, in sentences.
    """

    path: str
    name: str
    num_steps: int
    metrics: list[dict]
    finished: list[dict]
    scalars: list[list[dict]]
    problems: list[str] = field(default_factory=list)
    context_bias: dict = field(default_factory=dict)

    @property
    def method(self) -> str:
        """First part of the name, such as ``rbc``."""
        return self.name.split('_')[0]

    @property
    def last(self) -> int:
        """The last step with a result, -1 without any."""
        known = [t for t, step in enumerate(self.metrics) if step]
        return max(known, default=-1)

    def first(self, key: str, default: Any = None) -> Any:
        """Return a value that is the same in all steps."""
        for content in (*self.metrics, *self.finished):
            if content.get(key) is not None:
                return content[key]
        return default

    @property
    def seed(self) -> Any:
        """Random seed."""
        return self.first('seed')

    @property
    def num_base(self) -> int:
        """Classes of group old."""
        base = self.metrics[0].get('IoU', {}) if self.metrics else {}
        return self.first('num_base', len(base))

    @cached_property
    def iou(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """See :func:`iou_matrix`."""
        return iou_matrix([step.get('IoU', {}) for step in self.metrics])

    @property
    def has_background(self) -> bool:
        """Whether class 0 is background, or what is not learned yet."""
        classes, _, _ = self.iou
        return not classes or is_background(classes[0])

    @property
    def folder(self) -> WorkDir:
        """Its files."""
        return WorkDir(self.path)

    def context_change(self) -> list[dict[str, Any]]:
        """See :func:`.context_change`."""
        classes, matrix, _ = self.iou
        shown = [
            names if isinstance(names := done.get('shown'), list) else None
            for done in self.finished
        ]
        return context_change(classes, matrix[:, : self.last + 1], shown)

    def config(self) -> str:
        """Return the config of the last step that has one."""
        for step in reversed(range(self.num_steps)):
            path = self.folder.step(step).config
            if osp.isfile(path):
                with open(path, errors='replace') as file:
                    return file.read()
        return ''


def find_runs(paths: Iterable[str]) -> list[Run]:
    """Load all runs in folders, at any depth."""
    found = [folder.path for path in paths for folder in find_work_dirs(path)]
    return [load_run(path) for path in dict.fromkeys(found)]


def load_run(path: str) -> Run:
    """Load one run."""
    problems: list[str] = []
    folder = WorkDir(path)
    number = _num_steps(folder, problems)
    run = Run(path, run_name(path), number, [], [], [], problems)
    for step in range(number):
        _load_step(run, step, folder.step(step))
    if not number:
        problems.append(f'{path} holds no step')
    return run


def _num_steps(folder: WorkDir, problems: list[str]) -> int:
    """Return the steps of the task: a class each at most."""
    number = _read(folder.summary, problems, SUMMARY_KINDS).get('num_steps')
    if number is not None and 0 <= number < MAX_CLASSES:
        return number
    if number is not None:
        problems.append(
            f'{folder.summary}: num_steps is {number}, expected 0 to '
            f'{MAX_CLASSES - 1}: its folders are counted instead'
        )
    known = [step for step in folder.steps() if step < MAX_CLASSES]
    return max(known, default=-1) + 1


def _load_step(run: Run, step: int, files: StepDir) -> None:
    problems = run.problems
    metrics = _read(files.metrics, problems, METRICS_KINDS)
    run.metrics.append(_checked(metrics))
    run.finished.append(_read(files.finished, problems, FINISHED_KINDS))
    run.scalars.append(_read_scalars(files))
    bias = _read(files.context_bias, problems, BIAS_KINDS)
    run.context_bias = bias or run.context_bias
    if not run.finished[-1]:
        _say_unfinished(run, step)


def run_name(path: str) -> str:
    """Return the name of a run: its folder, or that above ``seed_<k>``."""
    head, tail = osp.split(osp.abspath(path))
    return osp.basename(head) if re.fullmatch(r'seed_\d+', tail) else tail


def _say_unfinished(run: Run, step: int) -> None:
    if run.metrics[-1]:
        run.metrics[-1] = {}
        what = 'has a result but is not marked as finished: left out'
    else:
        what = 'is not finished'
    run.problems.append(f'{run.path}: step {step} {what}')


def _read(path: str, problems: list[str], kinds: Mapping[str, type]) -> dict:
    """Return the content of a JSON file; a missing one is empty.

    Values of another kind than expected are left out, and said to be.
    """
    if not osp.isfile(path):
        return {}
    try:
        with open(path) as file:
            content = json.load(file)
        if not isinstance(content, dict):
            raise ValueError('it is no object')
    except (ValueError, OSError, RecursionError) as error:
        problems.append(f'{path} cannot be read ({error}): left out')
        return {}
    for key, kind in kinds.items():
        value = content.get(key)
        if value is not None and not _is_kind(value, kind):
            del content[key]
            problems.append(
                f'{path}: {key} is {str(value)[:40]!r}, expected '
                f'{KIND_NAMES[kind]}: left out'
            )
    return content


def _is_kind(value: Any, kind: type) -> bool:
    if kind is object:
        return not isinstance(value, (dict, list))
    if kind not in (int, float):
        return isinstance(value, kind)
    is_number = isinstance(value, (int, kind)) and not isinstance(value, bool)
    return is_number and abs(value) < LARGEST


def _checked(metrics: dict) -> dict:
    """Drop IoU that is no per cent."""
    iou = metrics.get('IoU')
    if not isinstance(iou, Mapping):
        return {}
    return dict(
        metrics,
        IoU={
            str(name): float(value)
            if isinstance(value, (int, float)) and 0 <= value <= 100
            else None
            for name, value in iou.items()
        },
    )


def _read_scalars(files: StepDir) -> list[dict]:
    """Return the training log of a step; a resumed one has several files."""
    by_iteration: dict[int, dict] = {}
    for path in files.scalars():
        with open(path, errors='replace') as file:
            for line in file:
                try:
                    values = json.loads(line)
                    by_iteration[int(values['iter'])] = values
                except (ValueError, KeyError, TypeError):
                    # Evaluation has no "iter"; a killed run ends in mid-line.
                    continue
    return [by_iteration[i] for i in sorted(by_iteration)]
