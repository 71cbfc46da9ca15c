"""The figures of the page: each is returned as SVG and written as PNG."""

from __future__ import annotations

import math
import os.path as osp
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from mmseg_rbc.evaluation.continual_metrics import forgetting, mean
from mmseg_rbc.runs.run import Run

from . import plots
from .sections import Entry, is_number


def write_curves(entries: Sequence[Entry], out_dir: str) -> str:
    """Draw mIoU over the steps, and the paper where it can be compared."""
    figure = plots.draw_curves(
        {e.name: e.experiment.curve() for e in entries},
        [e.name for e in entries if e.run.num_steps == 1],
        {e.name: e.paper[2] for e in entries if e.paper and e.is_comparable},
    )
    return _write(figure, 'curves', out_dir)


def write_heat_maps(entries: Sequence[Entry], out_dir: str) -> None:
    """Draw M of each experiment; the page has a table in its place."""
    for entry in entries:
        classes, matrix, _ = entry.experiment.matrix()
        steps = [f'{t}' for t in range(matrix.shape[1])]
        title, label = entry.name, 'IoU in per cent'
        figure = plots.draw_heat_map(matrix, classes, steps, title, label)
        name = f'heatmap_{_file_name(entry.name)}.png'
        plots.to_png(figure, osp.join(out_dir, name))


def write_forgetting(entries: Sequence[Entry], out_dir: str) -> str | None:
    """Draw what was lost of each class; None before there is a step 1."""
    lost: dict[str, dict[str, float]] = {}
    for entry in entries:
        classes, matrix, first = entry.experiment.matrix()
        if matrix.shape[1] > 1:
            values = forgetting(matrix, first)
            lost[entry.name] = dict(zip(classes, values.tolist()))
    if not lost:
        return None
    order = _worst_first(lost)
    bars = {
        name: [row.get(c, math.nan) for c in order]
        for name, row in lost.items()
    }
    # Joint has no bar, but a color in the other figures.
    colors = {entry.name: entry.color for entry in entries}
    label = 'IoU lost since it was learned'
    figure = plots.draw_bars(bars, order, label, colors)
    return _write(figure, 'forgetting', out_dir)


def _worst_first(lost: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Sort the classes by what the experiments lost of them on average."""
    names = dict.fromkeys(c for row in lost.values() for c in row)
    rows = [[row.get(c, math.nan) for c in names] for row in lost.values()]
    means = dict(zip(names, mean(np.array(rows), axis=0).tolist()))
    known = [c for c in names if not math.isnan(means[c])]
    return sorted(known, key=lambda c: -means[c])


def write_losses(entries: Sequence[Entry], out_dir: str) -> str | None:
    """Draw the training losses; None without any."""
    losses = {e.name: loss_points(e.run) for e in entries}
    if not any(losses.values()):
        return None
    return _write(plots.draw_losses(losses), 'losses', out_dir)


def loss_points(run: Run) -> list[tuple[float, float]]:
    """Return position (step and share of it) and loss."""
    points = []
    for step, scalars in enumerate(run.scalars):
        found = [s for s in scalars if is_number(s.get('loss'))]
        last = max((s['iter'] for s in found), default=1)
        points += [(step + s['iter'] / last, s['loss']) for s in found]
    return points


def _write(figure: Figure, name: str, out_dir: str) -> str:
    plots.to_png(figure, osp.join(out_dir, f'{name}.png'))
    return plots.to_svg(figure)


def _file_name(name: str) -> str:
    """Return a name that any file system takes."""
    return ''.join(c if c.isalnum() or c in '-_.' else '_' for c in name)
