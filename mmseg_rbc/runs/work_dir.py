"""The files of a run: their names, who writes them, and which one is right.

.. code-block:: text

    <work dir>/
      summary.json         the finished steps in one file
      benchmark.log        output, if run_benchmark.py started the run
      step_<k>/
        config.py          complete config of the step
        epoch_<n>.pth      (or iter_<n>.pth) to resume from; last_checkpoint
                           names the newest
        importance.pth     what EWC, PI and RW hand on to the next step
        memory.json        images that later steps keep, with their labels
        final.pth          the trained network
        metrics.json       the evaluation: IoU of every class, means of groups
        finished.json      written last: the step is done, and how
        context_bias.json  and co_occurrence.{json,png}: of context_bias.py
        <time stamp>/      logs; vis_data/scalars.json holds the losses

``finished.json`` decides whether a step is done, whatever else is there.
``metrics.json`` is the truth about its results. Two files only repeat them,
and can be made again: the ``metrics`` in ``finished.json`` are what the log
showed, rounded, and ``summary.json`` lists all ``finished.json``. All three
say which seed, number of threads, versions, commit and data they are of.
"""

from __future__ import annotations

import json
import os
import os.path as osp
import re
from collections.abc import Mapping, Sequence
from glob import escape, glob
from typing import Any

from mmseg_rbc.utils.files import write_json


class StepDir:
    """The folder of one step.

    Args:
        path: The folder. The attributes ``config`` to ``co_occurrence`` are
            the paths of its files.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.config = osp.join(path, 'config.py')
        self.importance = osp.join(path, 'importance.pth')
        self.memory = osp.join(path, 'memory.json')
        self.last_checkpoint = osp.join(path, 'last_checkpoint')
        self.final = osp.join(path, 'final.pth')
        self.metrics = osp.join(path, 'metrics.json')
        self.finished = osp.join(path, 'finished.json')
        self.context_bias = osp.join(path, 'context_bias.json')
        self.co_occurrence = osp.join(path, 'co_occurrence.json')
        self.co_occurrence_picture = osp.join(path, 'co_occurrence.png')

    @classmethod
    def of(cls, checkpoint: str) -> StepDir:
        """Return the folder of a checkpoint."""
        return cls(osp.dirname(osp.abspath(checkpoint)))

    def scalars(self) -> list[str]:
        """Return the logs of losses, oldest first; resuming adds one."""
        pattern = osp.join(escape(self.path), '*', 'vis_data', 'scalars.json')
        return sorted(glob(pattern))

    def checkpoints(self) -> list[str]:
        """Return what can be resumed, newest first, also in a moved work dir.

        That is the one that ``last_checkpoint`` names, then by time: numbers
        may be those of a run before, that was started again.
        """
        named = ''
        if self.had_checkpoint():
            with open(self.last_checkpoint, errors='replace') as file:
                # MMEngine writes the absolute path of that time.
                named = osp.basename(file.read().strip())
        found = [
            path
            for kind in ('epoch', 'iter')
            for path in glob(osp.join(escape(self.path), f'{kind}_*.pth'))
        ]
        return sorted(
            found,
            key=lambda path: (
                osp.basename(path) == named,
                osp.getmtime(path),
                path,
            ),
            reverse=True,
        )

    def had_checkpoint(self) -> bool:
        """Whether one was written, which may be gone."""
        return osp.isfile(self.last_checkpoint)

    def is_finished(self) -> bool:
        """Whether the step is done."""
        return osp.isfile(self.finished)

    def read_finished(self) -> dict[str, Any] | None:
        """Return what ``finished.json`` says, None without it."""
        if not self.is_finished():
            return None
        try:
            with open(self.finished) as file:
                content = json.load(file)
            if not isinstance(content, dict):
                raise ValueError('it is no object')
            if not isinstance(content.get('metrics', {}), dict):
                raise ValueError('its metrics are no object')
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f'{self.finished} is no result of a step ({error}): delete it '
                'to evaluate the step again, or use another --work-dir'
            ) from None
        return content

    def write_finished(self, content: Mapping[str, Any]) -> None:
        """Mark the step as done."""
        write_json(self.finished, content)


class WorkDir:
    """The folder of a run.

    Args:
        path: The folder. The attributes ``summary`` and ``log`` are the paths
            of its files.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.summary = osp.join(path, 'summary.json')
        self.log = osp.join(path, 'benchmark.log')

    def step(self, number: int) -> StepDir:
        """Return the folder of a step."""
        return StepDir(osp.join(self.path, f'step_{number}'))

    def previous(self, step: int) -> str | None:
        """Return the network that a step starts from, None for step 0."""
        return self.step(step - 1).final if step else None

    def steps(self) -> list[int]:
        """Return the steps that have a folder."""
        if not osp.isdir(self.path):
            return []
        matches = (
            re.fullmatch(r'step_(\d+)', n) for n in os.listdir(self.path)
        )
        return sorted(int(match[1]) for match in matches if match)

    def how_far(self) -> str:
        """Say what is there of a run that was stopped, and how to go on."""
        step = 0
        while self.step(step).is_finished():
            step += 1
        found = [osp.basename(path) for path in self.step(step).checkpoints()]
        begun = f', step {step} has {found[0]}' if found else ''
        return (
            f'{step} steps in {self.path} are finished{begun}: the same '
            'command with --resume goes on from there'
        )

    def write_summary(
        self,
        task: str,
        num_steps: int,
        finished: Sequence[Mapping],
        context_change: Sequence[Mapping] = (),
    ) -> None:
        """Write ``summary.json``.

        Args:
            task: The task in words.
            num_steps: Steps of the task.
            finished: Content of ``finished.json`` of the finished steps.
            context_change: See :meth:`.Run.context_change`.
        """
        content = dict(
            task=task,
            num_steps=num_steps,
            steps=list(finished),
            context_change=list(context_change),
        )
        write_json(self.summary, content)

    def read_summary(self) -> dict[str, Any]:
        """Return what ``summary.json`` says."""
        if not osp.isfile(self.summary):
            raise FileNotFoundError(
                f'{self.summary} does not exist: no step of this run is '
                'finished, or it is not the work dir of a run'
            )
        with open(self.summary) as file:
            return json.load(file)


def find_work_dirs(path: str) -> list[WorkDir]:
    """Return the runs in a folder, at any depth."""
    pattern = osp.join(escape(path), '**', 'step_0')
    found = sorted(glob(pattern, recursive=True))
    # A run that has not even begun leaves a log at most.
    return [WorkDir(osp.dirname(step) or '.') for step in found] or [
        WorkDir(path)
    ]
