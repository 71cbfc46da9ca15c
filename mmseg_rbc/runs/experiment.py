"""Runs that belong together: the same experiment with other seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mmseg_rbc.evaluation.continual_metrics import (
    group_means,
    mean,
    over_seeds,
    summarize,
)

from .run import Run


@dataclass
class Experiment:
    """Runs that differ by their seed only and got equally far."""

    name: str
    runs: list[Run]

    @property
    def method(self) -> str:
        """See :attr:`Run.method`."""
        return self.runs[0].method

    def matrix(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return classes, mean of M over seeds, and first steps."""
        known = [known_matrix(run) for run in self.runs]
        average = mean(np.stack([matrix for matrix, _ in known]), axis=0)
        return self.runs[0].iou[0], average, known[0][1]

    def numbers(self, background: bool = True) -> dict[str, dict]:
        """Return the numbers of the runs over seeds."""
        return over_seeds(
            [
                summarize(
                    *known_matrix(run),
                    run.num_base,
                    background or not run.has_background,
                )
                for run in self.runs
            ]
        )

    def context_change(self) -> dict[str, dict]:
        """Return how IoU of old classes changes in a step, mean over steps.

        Returns:
            ``shown`` and ``absent``, see :func:`.context_change`, over seeds;
            empty if no run says what its images show.
        """
        means = []
        for run in self.runs:
            changes = run.context_change()
            if changes:
                means.append(
                    {
                        part: float(
                            mean(np.array(_differences(changes, part)))
                        )
                        for part in ('shown', 'absent')
                    }
                )
        return over_seeds(means)

    def lowest(self) -> dict[str, float]:
        """Return the lowest values of all later steps and seeds.

        Returns:
            ``old_kept``, mIoU of old classes in per cent of that of step 0,
            and IoU of ``background``; NaN without a later step.
        """
        kept, background = [math.nan], [math.nan]
        for run in self.runs:
            matrix, _ = known_matrix(run)
            old = group_means(matrix, run.num_base)['old']
            kept += (100 * old[1:] / old[0]).tolist()
            if run.has_background:
                background += matrix[0, 1:].tolist()
        return dict(
            old_kept=float(np.fmin.reduce(kept)),
            background=float(np.fmin.reduce(background)),
        )

    def curve(self) -> list[float]:
        """Return mIoU of all classes in each step, mean over seeds."""
        rows = [
            group_means(known_matrix(run)[0], run.num_base)['all']
            for run in self.runs
        ]
        return mean(np.stack(rows), axis=0).tolist()


def _differences(changes: list[dict], part: str) -> list[float]:
    return [c[part]['after'] - c[part]['before'] for c in changes]


def known_matrix(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return M and first steps of a run up to its last result."""
    _, matrix, first = run.iou
    return matrix[:, : run.last + 1], first


def find_experiments(
    runs: Iterable[Run],
) -> tuple[list[Experiment], list[str]]:
    """Put runs together that differ by their seed only.

    Returns:
        The experiments in the order of the arguments, and sentences about runs
        that are in none.
    """
    found: dict[tuple, list[Run]] = {}
    for run in runs:
        if run.last >= 0:
            key = (run.name, run.first('task'), run.first('setting'))
            found.setdefault(key, []).append(run)
    names = [key[0] for key in found]
    experiments, problems = [], []
    for (name, *benchmark), members in found.items():
        if names.count(name) > 1:
            name = ' '.join(map(str, (name, *benchmark)))
        experiment = Experiment(name, [])
        furthest = max(run.last for run in members)
        for run in members:
            if run.last < furthest:
                problems.append(
                    f'{run.path} got to step {run.last} only, other seeds of '
                    f'{name} to step {furthest}: left out of their mean'
                )
            elif any(other.seed == run.seed for other in experiment.runs):
                problems.append(
                    f'{run.path} has the name {name} and the seed {run.seed} '
                    'of another run: left out'
                )
            else:
                experiment.runs.append(run)
        experiments.append(experiment)
    return experiments, problems


def missing_seeds(experiments: Sequence[Experiment]) -> list[str]:
    """Name the seeds that some runs have and others lack."""
    every = {run.seed for e in experiments for run in e.runs}
    return [
        f'{e.name} has no result with seed {seed}, which other runs have'
        for e in experiments
        for seed in sorted(every - {run.seed for run in e.runs}, key=str)
        if e.method != 'joint'
    ]


def unequal_evaluations(experiments: Sequence[Experiment]) -> list[str]:
    """Say that finished runs were not evaluated on the same data alike."""
    found: dict[str, str] = {}
    for experiment in experiments:
        for run in experiment.runs:
            images = run.metrics[run.last].get('num_images')
            if run.last == run.num_steps - 1 and images is not None:
                how = f'{images} images'
                for key in ('unseen', 'eval_images'):
                    value = run.first(key)
                    how += f', {key} {value}' if value else ''
                found.setdefault(how, run.path)
    if len(found) < 2:
        return []
    texts = [f'{path} on {how}' for how, path in found.items()]
    return [
        f'not all runs are evaluated alike ({"; ".join(texts)}): their '
        'numbers cannot be compared'
    ]


def find_benchmark(runs: Sequence[Run]) -> tuple[str | None, str | None]:
    """Return task and setting that the runs share, None where they differ.

    Joint, whose task is offline, takes those of the others.
    """
    found = {
        (run.first('task'), run.first('setting'))
        for run in runs
        if run.first('task') not in (None, 'offline')
    }
    return found.pop() if len(found) == 1 else (None, None)
