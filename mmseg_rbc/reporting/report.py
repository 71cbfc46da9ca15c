"""One page about one or many continual runs, readable without a network.

:func:`write_report` writes ``report.html`` with everything inside it, and
beside it the figures as PNG and the numbers as CSV and Markdown. The page is
made by the template of that name, which escapes all text from files.
"""

from __future__ import annotations

import math
import os
import os.path as osp
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mmseg_rbc.runs.experiment import (
    find_benchmark,
    find_experiments,
    missing_seeds,
    unequal_evaluations,
)
from mmseg_rbc.runs.run import Run
from mmseg_rbc.utils.files import write_text

from . import charts, sections
from .csv_files import write_csv
from .markdown import markdown_tables


def write_report(
    runs: Sequence[Run],
    out_dir: str,
    title: str = 'Continual segmentation',
    pictures: Mapping[str, str] | None = None,
    problems: Sequence[str] = (),
) -> str:
    """Write the page and its files.

    Args:
        runs: What :func:`~mmseg_rbc.runs.run.find_runs` returns.
        out_dir: Folder for all files.
        title: Heading of the page.
        pictures: Further PNG files by caption, which the page shows.
        problems: Further sentences about what is missing.

    Returns:
        The path of ``report.html``.
    """
    os.makedirs(out_dir, exist_ok=True)
    experiments, left_out = find_experiments(runs)
    found = [problem for run in runs for problem in run.problems]
    found += [*left_out, *missing_seeds(experiments), *problems]
    found += unequal_evaluations(experiments)
    benchmark = find_benchmark(runs)
    entries = sections.make_entries(experiments, *benchmark)
    write_csv(experiments, out_dir)
    write_text(osp.join(out_dir, 'tables.md'), markdown_tables(experiments))
    page = _environment().get_template('report.html')
    text = page.render(
        title=title,
        num_runs=len(runs),
        task=' '.join(filter(None, benchmark)),
        problems=found,
        pictures=_read_pictures(pictures or {}),
        **_tables(entries),
        **_figures(entries, out_dir),
    )
    path = osp.join(out_dir, 'report.html')
    write_text(path, text)
    return path


def _tables(entries: Sequence[sections.Entry]) -> dict[str, Any]:
    """Return the content of the tables of the page, and of its notes."""
    return dict(
        entries=entries,
        has_joint=any(map(sections.is_joint, entries)),
        has_paper=any(entry.paper for entry in entries),
        has_other_setup=not all(entry.is_comparable for entry in entries),
        results=sections.result_rows(entries, background=True),
        foreground_results=sections.result_rows(entries, background=False),
        heat_maps=sections.heat_maps(entries),
        context=sections.context_rows(entries),
        bias=sections.bias_rows(entries),
        costs=sections.cost_rows(entries),
        configs=sections.config_rows(entries),
    )


def _figures(
    entries: Sequence[sections.Entry], out_dir: str
) -> dict[str, Any]:
    """Write the figures, and return those that the page shows."""
    charts.write_heat_maps(entries, out_dir)
    context = sections.co_occurrence_picture(entries)
    return dict(
        curves=charts.write_curves(entries, out_dir) if entries else None,
        forgetting=charts.write_forgetting(entries, out_dir),
        context_chart=charts.write_context(entries, out_dir),
        losses=charts.write_losses(entries, out_dir),
        co_occurrence=sections.read_picture(context) if context else None,
    )


def _read_pictures(pictures: Mapping[str, str]) -> dict[str, str]:
    return {
        caption: sections.read_picture(path)
        for caption, path in pictures.items()
    }


@cache
def _environment() -> Environment:
    """Return the templates, with what they call."""
    environment = Environment(
        loader=PackageLoader('mmseg_rbc.reporting'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters['decimal'] = decimal
    environment.tests['nan'] = math.isnan
    return environment


def decimal(value: float) -> str:
    """Return a number with one digit, or a dash for NaN."""
    return '-' if math.isnan(value) else f'{value:.1f}'
