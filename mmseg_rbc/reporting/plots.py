"""Figures from numbers, each for a page (SVG) and as a file (PNG)."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

INK = '#222222'
# Letters in one line of a legend; figures are 7 inches wide.
LEGEND_WIDTH = 90
# Readable on white and on black, and apart for color-blind readers
# (P. Tol's "bright" scheme).
COLORS = (
    '#4477AA',
    '#EE6677',
    '#228833',
    '#CCBB44',
    '#66CCEE',
    '#AA3377',
    '#999999',
)
DASHES = ('-', '--', ':', '-.')
STYLE: Any = {
    'text.color': INK,
    'axes.labelcolor': INK,
    'axes.edgecolor': INK,
    'xtick.color': INK,
    'ytick.color': INK,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'font.size': 10,
    'svg.fonttype': 'none',
    # A dollar sign in a name is no formula.
    'text.parse_math': False,
}


def line_style(index: int) -> dict[str, Any]:
    """Return color and dashes of the n-th run, the same in all figures."""
    return dict(
        color=COLORS[index % len(COLORS)],
        linestyle=DASHES[index // len(COLORS) % len(DASHES)],
    )


@contextmanager
def _new_figure(width: float, height: float) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure, its size in inches, to draw in our style."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout='constrained')
        yield figure, figure.add_subplot()


def draw_curves(
    curves: Mapping[str, Sequence[float]],
    levels: Collection[str],
    paper: Mapping[str, float],
) -> Figure:
    """Draw mIoU of all seen classes over the steps (figure 8 of RBC).

    Args:
        curves: One value a step, by name of the run.
        levels: Runs of a single step, such as Joint: drawn as a level.
        paper: Values of the paper after the last step, by name.
    """
    last = max((len(values) for values in curves.values()), default=1) - 1
    with _new_figure(7, 4) as (figure, axes):
        for i, (name, values) in enumerate(curves.items()):
            style = line_style(i)
            if name in levels:
                axes.axhline(values[0], label=name, **style)
            else:
                axes.plot(values, marker='o', label=name, **style)
            if name in paper:
                star = dict(style, marker='*', markersize=10, linestyle='')
                axes.plot([last], [paper[name]], **star)
        axes.set_xlabel('step')
        axes.set_ylabel('mIoU of all seen classes')
        axes.set_xticks(range(last + 1))
        axes.set_ylim(0, None)
        axes.grid(alpha=0.25)
        _legend(axes, len(curves))
    return figure


def draw_losses(losses: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """Draw training losses.

    Args:
        losses: Position (step and share of it) and loss, by name of the run.
    """
    with _new_figure(7, 3) as (figure, axes):
        for i, (name, points) in enumerate(losses.items()):
            if points:
                x, y = zip(*points)
                axes.plot(x, y, label=name, linewidth=1, **line_style(i))
        axes.set_xlabel('step')
        axes.set_ylabel('training loss')
        axes.set_yscale('log')
        # The usual labels are formulas, which are switched off here.
        axes.yaxis.set_major_formatter(lambda value, _: f'{value:g}')
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.25)
        _legend(axes, len(losses))
    return figure


def draw_heat_map(
    matrix: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    label: str,
    limits: tuple[float, float] = (0, 100),
) -> Figure:
    """Draw a matrix with a number in each cell.

    Args:
        matrix: ``(R, C)``; NaN stays empty.
        rows: R names.
        columns: C names.
        title: Above it.
        label: What the colors mean.
        limits: Values of the darkest and of the brightest color.
    """
    size = (2.4 + 0.55 * len(columns), 0.8 + 0.26 * len(rows))
    with _new_figure(*size) as (figure, axes):
        image = axes.imshow(matrix, 'viridis', aspect='auto')
        image.set_clim(*limits)
        _write_cells(axes, matrix, sum(limits) / 2)
        axes.set_xticks(range(len(columns)), columns, rotation=45, ha='right')
        axes.set_yticks(range(len(rows)), rows)
        axes.set_title(title, fontsize=10)
        figure.colorbar(image, label=label)
    return figure


def _write_cells(axes: Axes, matrix: np.ndarray, middle: float) -> None:
    """Write numbers, black on what is brighter than the middle."""
    for i, j in np.argwhere(~np.isnan(matrix)):
        value = matrix[i, j]
        color = 'white' if value < middle else 'black'
        text = axes.text(j, i, f'{value:.0f}', color=color, fontsize=8)
        text.set(ha='center', va='center')


def draw_bars(
    values: Mapping[str, Sequence[float]],
    rows: Sequence[str],
    label: str,
    colors: Mapping[str, str],
) -> Figure:
    """Draw horizontal bars: for each row one of every run.

    Args:
        values: One value for each of R rows, by name of the run; NaN is 0.
        rows: R names.
        label: What the values are.
        colors: Color of each run.
    """
    number = max(len(values), 1)
    thickness = 0.8 / number
    with _new_figure(7, 1 + 0.16 * len(rows) * number) as (figure, axes):
        for i, (name, numbers) in enumerate(values.items()):
            axes.barh(
                np.arange(len(rows)) + (i + 0.5) * thickness - 0.4,
                np.nan_to_num(np.asarray(numbers, float)),
                height=thickness,
                label=name,
                color=colors[name],
            )
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_yticks(range(len(rows)), rows)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.grid(axis='x', alpha=0.25)
        _legend(axes, len(values))
    return figure


def _legend(axes: Axes, number: int) -> None:
    """Name the runs above the axes, in as many columns as names allow."""
    if number:
        _, names = axes.get_legend_handles_labels()
        longest = max((len(name) for name in names), default=0)
        columns = LEGEND_WIDTH // (longest + 6)
        axes.legend(
            loc='lower center',
            bbox_to_anchor=(0.5, 1),
            ncols=max(min(number, 3, columns), 1),
            frameon=False,
            fontsize=9,
        )


def to_svg(figure: Figure) -> str:
    """Return a figure as an element of a page, with the page's text color."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format='svg', transparent=True)
    text = buffer.getvalue()
    text = text[text.index('<svg') :].replace(INK, 'currentColor')
    return re.sub(r'<metadata>.*?</metadata>', '', text, flags=re.DOTALL)


def to_png(figure: Figure, path: str) -> None:
    """Write a figure on white."""
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, dpi=110, facecolor='white')
