"""One page about one or many continual runs, readable without a network.

:func:`write_report` writes ``report.html`` with everything inside it, and
beside it the figures as PNG and the numbers as CSV. All text that comes from
files is escaped.
"""

from __future__ import annotations

import csv
import math
import os
import os.path as osp
from collections.abc import Mapping, Sequence
from glob import escape as glob_escape
from glob import glob
from html import escape

import numpy as np

from mmseg_rbc.evaluation.continual_metrics import (
    forgetting,
    mean,
    over_seeds,
    summarize,
)
from mmseg_rbc.reporting.paper import paper_numbers, same_conditions
from mmseg_rbc.runs.experiment import (
    Group,
    find_benchmark,
    group_runs,
    known_matrix,
    missing_seeds,
)
from mmseg_rbc.runs.run import Run
from mmseg_rbc.utils.files import write_text

from . import plots
from .html_elements import (
    chart,
    duration,
    file_name,
    heat_cell,
    is_number,
    number,
    page,
    picture,
    plain_number,
    section,
    swatch,
    table,
)

COLUMNS = dict(
    old='old',
    new='new',
    all='all',
    mean='mean over steps',
    harmonic='harmonic mean',
    forgetting='forgetting',
)

BIAS_COLUMNS = dict(
    flipped='flipped',
    right='right',
    lost='of these lost',
    probability_drop='probability lost',
    iou_drop='IoU lost',
)


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
    groups, left_out = group_runs(runs)
    found = [problem for run in runs for problem in run.problems]
    found += [*left_out, *missing_seeds(groups), *problems]
    benchmark = find_benchmark(runs)
    paper = {
        g.name: numbers
        for g in groups
        if (numbers := paper_numbers(g.method, *benchmark))
    }
    sections = [
        _problems(found),
        _summary(groups, paper),
        _curves(groups, paper, out_dir),
        _heat_maps(groups, out_dir),
        _forgetting(groups, out_dir),
        _context_bias(groups),
        _pictures(pictures or {}),
        _losses(groups, out_dir),
        _costs(groups),
        _settings(groups),
    ]
    _write_csv(groups, out_dir)
    task = ' '.join(filter(None, benchmark))
    path = osp.join(out_dir, 'report.html')
    body = '\n'.join(filter(None, sections))
    write_text(path, page(title, task, len(runs), body))
    return path


def as_in_paper(group: Group) -> bool:
    """Whether data and network of a run are those of the paper."""
    return same_conditions(group.runs[0].first('conditions'))


# Sections


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ''
    items = ''.join(f'<li>{escape(p)}</li>' for p in problems)
    return f'<aside><b>What is missing</b><ul>{items}</ul></aside>'


def _summary(
    groups: Sequence[Group], paper: Mapping[str, Sequence[float]]
) -> str:
    if not groups:
        return '<p>No step has a result yet.</p>'
    tables = [
        _summary_table(groups, True, paper),
        '<details><summary>Without background</summary>',
        _summary_table(groups, False, {}),
        '</details>',
    ]
    notes = (
        'mIoU in per cent after the last step: classes of step 0 with '
        'background (old), later ones (new), all. Forgetting: IoU of a class '
        'when it was learned minus at the end, mean over classes; the negative '
        'is the backward transfer. ± is the standard deviation over seeds.'
    )
    if paper and not all(map(as_in_paper, groups)):
        notes += (
            ' † The paper used other conditions (VOC at 512 pixels, DeepLabV3 '
            'with ResNet-101): not comparable.'
        )
    return section('Results', ''.join(tables) + f'<p class=note>{notes}</p>')


def _summary_table(
    groups: Sequence[Group],
    background: bool,
    paper: Mapping[str, Sequence[float]],
) -> str:
    joint = [g for g in groups if g.method == 'joint']
    best = joint[0].numbers(background)['all']['mean'] if joint else math.nan
    head = ['run', 'steps', 'seeds', *COLUMNS.values()]
    head += ['gap to Joint'] * bool(joint)
    head += ['paper: old / new / all'] * bool(paper)
    rows = []
    for i, group in enumerate(groups):
        numbers = group.numbers(background)
        done, total = group.runs[0].last + 1, group.runs[0].num_steps
        seeds = ', '.join(str(run.seed) for run in group.runs)
        row = [
            f'{swatch(i)}{escape(group.name)}',
            f'{done}' if done == total else f'<b>{done} of {total}</b>',
            escape(seeds),
            *(number(numbers[key]) for key in COLUMNS),
        ]
        if joint:
            row.append(plain_number(best - numbers['all']['mean']))
        if paper:
            values = ' / '.join(
                f'{value:.1f}' for value in paper.get(group.name, ())
            )
            mark = ' †' if values and not as_in_paper(group) else ''
            row.append(f'<i>{values}{mark}</i>')
        rows.append(row)
    return table(head, rows)


def _curves(
    groups: Sequence[Group], paper: Mapping[str, Sequence[float]], out_dir: str
) -> str:
    if not groups:
        return ''
    comparable = {
        name: numbers[2]
        for name, numbers in paper.items()
        for g in groups
        if g.name == name and as_in_paper(g)
    }
    curves = {g.name: g.curve() for g in groups}
    levels = [g.name for g in groups if g.runs[0].num_steps == 1]
    figure = plots.draw_curves(curves, levels, comparable)
    return section('mIoU over the steps', chart(figure, 'curves', out_dir))


def _heat_maps(groups: Sequence[Group], out_dir: str) -> str:
    parts = []
    for group in groups:
        classes, matrix, _ = group.matrix()
        steps = [f'{t}' for t in range(matrix.shape[1])]
        name = file_name(group.name)
        plots.to_png(
            plots.draw_heat_map(
                matrix, classes, steps, group.name, 'IoU in per cent'
            ),
            osp.join(out_dir, f'heatmap_{name}.png'),
        )
        rows = [
            [escape(c), *(heat_cell(v) for v in values)]
            for c, values in zip(classes, matrix)
        ]
        cells = table(['class', *(f'step {s}' for s in steps)], rows, 'heat')
        opened = ' open' if len(groups) <= 3 else ''
        parts.append(
            f'<details{opened}><summary>{escape(group.name)}</summary>'
            f'{cells}</details>'
        )
    return section('IoU of every class in every step', ''.join(parts))


def _forgetting(groups: Sequence[Group], out_dir: str) -> str:
    lost: dict[str, dict[str, float]] = {}
    for group in groups:
        classes, matrix, first = group.matrix()
        if matrix.shape[1] > 1:
            values = forgetting(matrix, first)
            lost[group.name] = dict(zip(classes, values.tolist()))
    if not lost:
        return ''
    names = dict.fromkeys(name for row in lost.values() for name in row)
    worst = {
        name: mean(
            np.array([row.get(name, math.nan) for row in lost.values()])
        )
        for name in names
    }
    order = sorted(
        (n for n in names if not math.isnan(worst[n])),
        key=lambda n: -worst[n],
    )
    bars = {
        label: [row.get(name, math.nan) for name in order]
        for label, row in lost.items()
    }
    figure = plots.draw_bars(bars, order, 'IoU lost since it was learned')
    return section('Forgetting', chart(figure, 'forgetting', out_dir))


def _context_bias(groups: Sequence[Group]) -> str:
    rows = []
    for i, group in enumerate(groups):
        found = [
            {
                key: value
                for key, value in run.context_bias.get('mean', {}).items()
                if is_number(value)
            }
            for run in group.runs
            if run.context_bias
        ]
        if found:
            numbers = over_seeds(found)
            cells = [
                number(numbers[key]) if key in numbers else '-'
                for key in BIAS_COLUMNS
            ]
            rows.append([f'{swatch(i)}{escape(group.name)}', *cells])
    if not rows:
        return ''
    note = (
        'What happens to pixels of old classes when the later classes are '
        'erased from the picture, in per cent, mean over old classes: the '
        'share whose prediction changes; the share that was right, and of '
        'these what turns wrong; the drop of the probability of the true '
        'class and of its IoU. Without context bias all but "right" are 0. A '
        'network that has forgotten its old classes has nothing to lose.'
    )
    body = table(['run', *BIAS_COLUMNS.values()], rows)
    drawn = [
        path
        for group in groups
        for run in group.runs
        for path in glob(
            osp.join(glob_escape(run.path), 'step_*', 'co_occurrence.png')
        )
    ]
    caption = 'Context of the old classes in the training data'
    body += f'<p class=note>{note}</p>'
    if drawn:
        body += picture(caption, drawn[-1])
    return section('Context bias', body)


def _pictures(pictures: Mapping[str, str]) -> str:
    parts = [picture(caption, path) for caption, path in pictures.items()]
    return section('Predictions', ''.join(parts)) if parts else ''


def _losses(groups: Sequence[Group], out_dir: str) -> str:
    losses = {}
    for group in groups:
        points = []
        for step, scalars in enumerate(group.runs[0].scalars):
            found = [s for s in scalars if is_number(s.get('loss'))]
            last = max((s['iter'] for s in found), default=1)
            points += [(step + s['iter'] / last, s['loss']) for s in found]
        losses[group.name] = points
    if not any(losses.values()):
        return ''
    figure = plots.draw_losses(losses)
    return section('Training', chart(figure, 'losses', out_dir))


def _costs(groups: Sequence[Group]) -> str:
    rows = []
    for i, group in enumerate(groups):
        for run in group.runs:
            seconds = [step.get('seconds') for step in run.finished]
            known = [s for s in seconds if is_number(s)]
            memory = [step.get('peak_memory_mb') for step in run.finished]
            partial = any(
                step.get('resumed') or step.get('adopted')
                for step in run.finished
            )
            rows.append(
                [
                    f'{swatch(i)}{escape(group.name)}',
                    escape(str(run.seed)),
                    duration(sum(known)) + ('*' if partial else ''),
                    ', '.join(
                        duration(s) if is_number(s) else '?' for s in seconds
                    ),
                    escape(str(max(filter(is_number, memory), default='?'))),
                    escape(str(run.first('versions', {}).get('device', '?'))),
                ]
            )
    head = ['run', 'seed', 'time', 'of the steps', 'peak memory, MB', 'device']
    note = (
        '<p class=note>Wall-clock time with evaluation. * A resumed step '
        'counts from where it went on, a step 0 of another run its evaluation '
        'only.</p>'
    )
    return section('Time and memory', table(head, rows) + note)


def _settings(groups: Sequence[Group]) -> str:
    parts = []
    for group in groups:
        run = group.runs[0]
        versions = ', '.join(
            f'{key} {value}'
            for key, value in run.first('versions', {}).items()
        )
        evaluated = '; '.join(
            f'{key}: {run.first(key)}'
            for key in ('unseen', 'eval_images', 'num_images')
            if run.first(key) is not None
        )
        parts.append(
            f'<details><summary>{escape(group.name)}</summary>'
            f'<p>{escape(run.path)}<br>{escape(versions)}<br>'
            f'evaluation: {escape(evaluated)}</p>'
            f'<pre class=scroll>{escape(run.config())}</pre></details>'
        )
    return section('Configs and versions', ''.join(parts)) if parts else ''


def _write_csv(groups: Sequence[Group], out_dir: str) -> None:
    keys = [*COLUMNS, 'transfer']
    with open(osp.join(out_dir, 'summary.csv'), 'w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['run', 'seed', 'background', 'last_step', *keys])
        for group in groups:
            for run in group.runs:
                matrix, first = known_matrix(run)
                for background in (True, False):
                    numbers = summarize(
                        matrix, first, run.num_base, background
                    )
                    writer.writerow(
                        [run.name, run.seed, background, matrix.shape[1] - 1]
                        + [f'{numbers[key]:.4f}' for key in keys]
                    )
    with open(osp.join(out_dir, 'iou.csv'), 'w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['run', 'seed', 'step', 'class', 'iou'])
        for group in groups:
            for run in group.runs:
                classes, matrix, _ = run.iou
                for c, t in np.argwhere(~np.isnan(matrix)):
                    value = f'{matrix[c, t]:.4f}'
                    writer.writerow([run.name, run.seed, t, classes[c], value])
