"""Results as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prettytable import PrettyTable

from mmseg_rbc.evaluation.context_bias import MEASURES
from mmseg_rbc.evaluation.continual_metrics import GROUPS
from mmseg_rbc.runs.experiment import Experiment

MIOU = [f'mIoU {group}' for group in GROUPS]


def summary_table(steps: Sequence[dict], name: str = '') -> str:
    """Return a table of mIoU by step and group.

    Args:
        steps: What :func:`~mmseg_rbc.engine.run_sequence` returns.
        name: Put above the table.
    """
    rows = []
    for step in steps:
        values = [step['metrics'].get(f'mIoU_{group}') for group in GROUPS]
        rows.append([step['step'], *(_number(v, 2) for v in values)])
    table = _table(['step', *MIOU], rows)
    table.align['step'] = 'r'
    return f'{name}\n{table}' if name else str(table)


def benchmark_table(experiments: Sequence[Experiment]) -> str:
    """Return a table of mIoU after the last step.

    Args:
        experiments: A row each: mean, and standard deviation over seeds.
    """
    rows = []
    for experiment in experiments:
        numbers = experiment.numbers()
        cells = [_mean_and_std(numbers[group]) for group in GROUPS]
        rows.append([experiment.name, *cells])
    return str(_table(['run', *MIOU], rows))


def context_bias_table(result: Mapping[str, Any]) -> str:
    """Return a table of the context bias of each class, and their mean.

    Args:
        result: See :meth:`.ContextBias.result`.
    """
    found = [*result['by_class'].items(), ('mean', result['mean'])]
    rows = [
        [name, *(_number(row[key], 1) for key in MEASURES)]
        for name, row in found
    ]
    return str(_table(['class', *MEASURES], rows))


def _table(head: list[str], rows: Iterable[list]) -> PrettyTable:
    """Return a table of numbers that begins with a column of names."""
    table = PrettyTable(head)
    table.align = 'r'
    table.align[head[0]] = 'l'
    table.add_rows(list(rows))
    return table


def _mean_and_std(value: Mapping[str, float]) -> str:
    mean, std = (_number(value[key], 2) for key in ('mean', 'std'))
    return mean if std == '-' else f'{mean} ± {std}'


def _number(value: float | None, digits: int) -> str:
    """Return a number, or a dash for one that is unknown."""
    if value is None or math.isnan(value):
        return '-'
    return f'{value:.{digits}f}'
