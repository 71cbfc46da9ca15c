"""Results as tables of Markdown, for documents.

``tables.md`` of a report. The tables in docs/ are those of the results in
docs/results/; a test compares them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mmseg_rbc.evaluation.continual_metrics import GROUPS
from mmseg_rbc.runs.experiment import Experiment

NUMBERS = (*GROUPS, 'harmonic', 'mean')


def markdown_tables(experiments: Sequence[Experiment]) -> str:
    """Return the tables of experiments, a row each.

    mIoU of the groups after the last step, their harmonic mean, and the mean
    over steps; all classes by seed and by step; how IoU of old classes changes
    in a step that shows them and in one that does not; and the health of the
    later steps. Mean and deviation are over seeds.
    """
    seeds = sorted({run.seed for e in experiments for run in e.runs}, key=str)
    steps = range(max((len(e.curve()) for e in experiments), default=0))
    return '\n'.join(
        [
            _table(
                ['mIoU', *NUMBERS, 'seeds'],
                [_result_cells(e) for e in experiments],
                experiments,
            ),
            _table(
                ['all classes', *(f'seed {seed}' for seed in seeds)],
                [_seed_cells(e, seeds) for e in experiments],
                experiments,
            ),
            _table(
                ['all classes', *(f'step {step}' for step in steps)],
                [_step_cells(e, len(steps)) for e in experiments],
                experiments,
            ),
            _table(
                ['old classes in a step', 'shown', 'absent'],
                [_context_cells(e) for e in experiments],
                experiments,
            ),
            _table(
                ['lowest', 'old kept', 'background', 'minutes'],
                [_health_cells(e) for e in experiments],
                experiments,
            ),
        ]
    )


def _table(
    head: list[str], rows: list[list[str]], experiments: Sequence[Experiment]
) -> str:
    """Return a table whose rows begin with the names of experiments."""
    names = [experiment.name for experiment in experiments]
    methods = [experiment.method for experiment in experiments]
    if len(set(methods)) == len(methods):
        names = methods
    named = [[name, *row] for name, row in zip(names, rows)]
    lines = [head, ['---'] * len(head), *named]
    return ''.join(f'| {" | ".join(line)} |\n' for line in lines)


def _result_cells(experiment: Experiment) -> list[str]:
    numbers = experiment.numbers()
    cells = [_with_deviation(numbers[key]) for key in NUMBERS]
    return [*cells, str(len(experiment.runs))]


def _seed_cells(experiment: Experiment, seeds: Sequence[object]) -> list[str]:
    values = experiment.numbers()['all']['values']
    found = {run.seed: v for run, v in zip(experiment.runs, values)}
    return [_number(found.get(seed, math.nan)) for seed in seeds]


def _step_cells(experiment: Experiment, num_steps: int) -> list[str]:
    curve = experiment.curve()
    return [_number(v) for v in curve] + ['-'] * (num_steps - len(curve))


def _context_cells(experiment: Experiment) -> list[str]:
    change = experiment.context_change()
    unknown = dict(mean=math.nan, std=math.nan)
    return [
        _with_deviation(change.get(part, unknown), sign='+')
        for part in ('shown', 'absent')
    ]


def _health_cells(experiment: Experiment) -> list[str]:
    """Share of step 0 that is kept, in per cent, background, and time."""
    lowest = experiment.lowest()
    kept = lowest['old_kept']
    if math.isnan(kept):
        return ['-', '-', '-']
    seconds = [
        sum(done.get('seconds') or 0.0 for done in run.finished[1:])
        for run in experiment.runs
    ]
    minutes = sum(seconds) / len(seconds) / 60
    return [f'{kept:.0f} %', _number(lowest['background']), _number(minutes)]


def _with_deviation(value: Mapping[str, float], sign: str = '') -> str:
    mean = _number(value['mean'], sign)
    std = value['std']
    return mean if math.isnan(std) else f'{mean} ± {std:.1f}'


def _number(value: float, sign: str = '') -> str:
    return '-' if math.isnan(value) else f'{value:{sign}.1f}'
