"""The results of a sequence as text."""

from __future__ import annotations

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
