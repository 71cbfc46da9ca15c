"""The results of a sequence as text."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from prettytable import PrettyTable

GROUPS = ('old', 'new', 'all')


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
        By name and group the ``mean``, the standard deviation ``std`` (None
        for a single run) and the ``values``.
    """
    table: dict[str, dict] = {}
    for name, step in runs:
        row = table.setdefault(name, {group: [] for group in GROUPS})
        for group in GROUPS:
            value = step['metrics'].get(f'mIoU_{group}')
            if value is not None:
                row[group].append(value)
    return {
        name: {group: _statistics(values) for group, values in row.items()}
        for name, row in table.items()
    }


def _statistics(values: list[float]) -> dict:
    return dict(
        mean=statistics.fmean(values) if values else None,
        std=statistics.stdev(values) if len(values) > 1 else None,
        values=values,
    )


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
    if value['mean'] is None:
        return '-'
    mean = f'{value["mean"]:.2f}'
    return mean if value['std'] is None else f'{mean} ± {value["std"]:.2f}'
