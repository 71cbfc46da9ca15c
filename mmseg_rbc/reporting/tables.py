"""The results of a sequence as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prettytable import PrettyTable

from . import continual_metrics
from .continual_metrics import GROUPS


def summary_table(steps: Sequence[dict], name: str = '') -> str:
    """Return a table of mIoU by step and group.

    Args:
        steps: What :func:`~mmseg_rbc.engine.run_sequence` returns.
        name: Put above the table.
    """
    table = PrettyTable(['step', *(f'mIoU {group}' for group in GROUPS)])
    table.align = 'r'
    for step in steps:
        values = [step['metrics'].get(f'mIoU_{group}') for group in GROUPS]
        table.add_row(
            [step['step'], *('-' if v is None else f'{v:.2f}' for v in values)]
        )
    return f'{name}\n{table}' if name else str(table)


def over_seeds(runs: Sequence[tuple[str, dict]]) -> dict[str, dict]:
    """Average the results of equal runs with different seeds.

    Args:
        runs: Name and last step of every run, see :func:`summary_table`.

    Returns:
        By name and group, see :func:`.continual_metrics.over_seeds`.
    """
    by_name: dict[str, list[dict[str, float]]] = {}
    for name, step in runs:
        metrics = step['metrics']
        by_name.setdefault(name, []).append(
            {group: metrics.get(f'mIoU_{group}', math.nan) for group in GROUPS}
        )
    return {
        name: continual_metrics.over_seeds(rows)
        for name, rows in by_name.items()
    }


def benchmark_table(results: dict[str, dict]) -> str:
    """Return a table of mIoU after the last step.

    Args:
        results: What :func:`over_seeds` returns.
    """
    table = PrettyTable(['run', *(f'mIoU {group}' for group in GROUPS)])
    table.align = 'r'
    table.align['run'] = 'l'
    for name, row in results.items():
        table.add_row([name, *(_mean_and_std(row[g]) for g in GROUPS)])
    return str(table)


def _mean_and_std(value: dict) -> str:
    if math.isnan(value['mean']):
        return '-'
    mean, std = (f'{value[key]:.2f}' for key in ('mean', 'std'))
    return mean if math.isnan(value['std']) else f'{mean} ± {std}'
