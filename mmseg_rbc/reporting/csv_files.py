"""The numbers of runs as CSV, to work on with other programs."""

from __future__ import annotations

import csv
import os.path as osp
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mmseg_rbc.evaluation.continual_metrics import summarize
from mmseg_rbc.runs.experiment import Experiment, known_matrix
from mmseg_rbc.runs.run import Run

MEASURES = (
    'old',
    'new',
    'all',
    'mean',
    'harmonic',
    'forgetting',
    'transfer',
)


def write_csv(experiments: Sequence[Experiment], out_dir: str) -> None:
    """Write ``summary.csv`` and ``iou.csv``.

    Args:
        experiments: The runs; a line of the first file is the summary of a
            run, one of the second the IoU of a class in a step.
        out_dir: Folder that exists.
    """
    runs = [run for experiment in experiments for run in experiment.runs]
    head = ['run', 'seed', 'background', 'last_step', *MEASURES]
    _write(osp.join(out_dir, 'summary.csv'), head, _summary_rows(runs))
    head = ['run', 'seed', 'step', 'class', 'iou']
    _write(osp.join(out_dir, 'iou.csv'), head, _iou_rows(runs))


def _summary_rows(runs: Iterable[Run]) -> Iterator[list]:
    for run in runs:
        matrix, first = known_matrix(run)
        last = matrix.shape[1] - 1
        for background in (True, False):
            first_counts = background or not run.has_background
            numbers = summarize(matrix, first, run.num_base, first_counts)
            values = [f'{numbers[key]:.4f}' for key in MEASURES]
            yield [run.name, run.seed, background, last, *values]


def _iou_rows(runs: Iterable[Run]) -> Iterator[list]:
    for run in runs:
        classes, matrix, _ = run.iou
        for c, t in np.argwhere(~np.isnan(matrix)):
            value = f'{matrix[c, t]:.4f}'
            yield [run.name, run.seed, t, classes[c], value]


def _write(path: str, head: list[str], rows: Iterable[list[Any]]) -> None:
    with open(path, 'w', newline='') as file:
        csv.writer(file).writerows([head, *rows])
