"""What the sections of the page say, as plain data for its template."""

from __future__ import annotations

import base64
import math
import os.path as osp
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmseg_rbc.evaluation.continual_metrics import over_seeds
from mmseg_rbc.runs.experiment import Experiment
from mmseg_rbc.runs.run import Run

from .paper import Numbers, is_papers_setup, paper_numbers
from .plots import line_style

if TYPE_CHECKING:
    from typing import TypeGuard  # of Python 3.10


@dataclass
class Entry:
    """An experiment on the page.

    Attributes:
        experiment: Its runs.
        color: Of its name, lines and bars.
        paper: mIoU old, new and all of the paper, None without.
        is_comparable: Whether it has the setup of the paper.
    """

    experiment: Experiment
    color: str
    paper: Numbers | None
    is_comparable: bool

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.experiment.name

    @property
    def run(self) -> Run:
        """The first run, for what is the same in all."""
        return self.experiment.runs[0]


def make_entries(
    experiments: Sequence[Experiment], task: str | None, setting: str | None
) -> list[Entry]:
    """Give experiments their colors, and the numbers of the paper.

    Args:
        experiments: In the order of the page.
        task: Task of all of them, None if they differ.
        setting: Setting of all of them, None if they differ.
    """
    return [
        Entry(
            experiment,
            line_style(i)['color'],
            paper_numbers(experiment.method, task, setting),
            is_papers_setup(experiment.runs[0].config()),
        )
        for i, experiment in enumerate(experiments)
    ]


def result_rows(entries: Sequence[Entry], background: bool) -> list[dict]:
    """Return the numbers of each experiment.

    Returns:
        ``entry``; ``numbers``, see :meth:`.Experiment.numbers`; ``gap``, how
        far mIoU of all classes is below that of Joint, NaN without Joint.
    """
    numbers = [e.experiment.numbers(background) for e in entries]
    means = [row['all']['mean'] for row in numbers]
    joint = [m for e, m in zip(entries, means) if is_joint(e)]
    best = joint[0] if joint else math.nan
    return [
        dict(entry=entry, numbers=row, gap=best - mean)
        for entry, row, mean in zip(entries, numbers, means)
    ]


def is_joint(entry: Entry) -> bool:
    """Whether an experiment is the upper bound of the others."""
    return entry.experiment.method == 'joint'


def heat_maps(entries: Sequence[Entry]) -> list[dict]:
    """Return M of each experiment, mean over seeds.

    Returns:
        ``entry``; ``columns``, the names of the steps; ``rows``: class and
        its IoU in each step, NaN where it is unknown.
    """
    maps = []
    for entry in entries:
        classes, matrix, _ = entry.experiment.matrix()
        columns = [f'step {t}' for t in range(matrix.shape[1])]
        rows = list(zip(classes, matrix.tolist()))
        maps.append(dict(entry=entry, columns=columns, rows=rows))
    return maps


def bias_rows(entries: Iterable[Entry]) -> list[dict]:
    """Return the context bias of the experiments that it was measured of.

    Returns:
        ``entry``; ``numbers``, mean and deviation over seeds by measure.
    """
    rows = []
    for entry in entries:
        means = [
            run.context_bias.get('mean', {})
            for run in entry.experiment.runs
            if run.context_bias
        ]
        found = [
            {key: value for key, value in row.items() if is_number(value)}
            for row in means
        ]
        if found:
            rows.append(dict(entry=entry, numbers=over_seeds(found)))
    return rows


def co_occurrence_picture(entries: Iterable[Entry]) -> str | None:
    """Return the path of the newest picture of the context of old classes."""
    paths = [
        run.folder.step(step).co_occurrence_picture
        for entry in entries
        for run in entry.experiment.runs
        for step in run.folder.steps()
    ]
    return next(filter(osp.isfile, reversed(paths)), None)


def read_picture(path: str) -> str:
    """Return a file in base64."""
    with open(path, 'rb') as file:
        return base64.b64encode(file.read()).decode()


def cost_rows(entries: Iterable[Entry]) -> list[dict]:
    """Return time and memory of each run."""
    return [
        dict(entry=entry, seed=run.seed, **_costs(run))
        for entry in entries
        for run in entry.experiment.runs
    ]


def _costs(run: Run) -> dict[str, Any]:
    seconds = [step.get('seconds') for step in run.finished]
    memory = [step.get('peak_memory_mb') for step in run.finished]
    return dict(
        total=duration(sum(filter(is_number, seconds))),
        steps=[duration(s) if is_number(s) else '?' for s in seconds],
        is_partial=any(
            step.get('resumed') or step.get('adopted') for step in run.finished
        ),
        memory=max(filter(is_number, memory), default='?'),
        device=run.first('versions', {}).get('device', '?'),
    )


def config_rows(entries: Iterable[Entry]) -> list[dict]:
    """Return what each experiment ran with, as its first run says it."""
    return [
        dict(
            entry=entry,
            path=entry.run.path,
            versions=_versions(entry.run),
            evaluation=_evaluation(entry.run),
            config=entry.run.config(),
        )
        for entry in entries
    ]


def _versions(run: Run) -> str:
    found = run.first('versions', {})
    return ', '.join(f'{key} {value}' for key, value in found.items())


def _evaluation(run: Run) -> str:
    found = {
        key: run.first(key) for key in ('unseen', 'eval_images', 'num_images')
    }
    return '; '.join(
        f'{key}: {value}' for key, value in found.items() if value is not None
    )


def duration(seconds: float) -> str:
    """Return a time to read."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f'{hours} h {minutes:02d} min'
    return f'{minutes} min {rest:02d} s' if minutes else f'{rest} s'


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)
