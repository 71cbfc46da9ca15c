"""Work dirs with gaps and damage are read as far as they go."""

import json
from pathlib import Path

import numpy as np

from mmseg_rbc.reporting.paper import (
    CONDITIONS,
    METHODS,
    paper_numbers,
    same_conditions,
)
from mmseg_rbc.runs.run import find_runs, load_run

CONFIGS = Path(__file__).parents[2] / 'configs'


def write_run(folder: Path, steps: int = 3, seed: int = 0, **iou) -> Path:
    """Write a work dir as tools/train.py leaves it."""
    classes = ['background', 'cat', 'dog', 'cow'][: steps + 1]
    for step in range(steps):
        path = folder / f'step_{step}'
        logs = path / 'stamp/vis_data'
        logs.mkdir(parents=True)
        values = {c: 50.0 - step + i for i, c in enumerate(classes)}
        values = dict(list(values.items())[: step + 2], **iou)
        metrics = dict(
            task='1-1', setting='overlapped', step=step, num_base=2, IoU=values
        )
        (path / 'metrics.json').write_text(json.dumps(metrics))
        done = dict(step=step, seed=seed, seconds=61.0, peak_memory_mb=100)
        (path / 'finished.json').write_text(json.dumps(done))
        (path / 'config.py').write_text('a = 1\n')
        lines = [dict(iter=i, loss=1 / i) for i in (1, 2)]
        text = '\n'.join(map(json.dumps, [*lines, dict(mIoU=3)]))
        (logs / 'scalars.json').write_text(text + '\n{"iter": 3, "lo')
    summary = dict(num_steps=steps)
    (folder / 'summary.json').write_text(json.dumps(summary))
    return folder


def test_complete_run(tmp_path):
    run = load_run(str(write_run(tmp_path / 'ft', seed=4)))
    assert run.last == 2 and not run.problems
    assert (run.name, run.seed, run.num_steps, run.num_base) == ('ft', 4, 3, 2)
    assert run.iou[0] == ['background', 'cat', 'dog', 'cow']
    assert [s['loss'] for s in run.scalars[1]] == [1, 0.5]
    assert run.config() == 'a = 1\n'


def test_names_and_search(tmp_path):
    odd = load_run(str(write_run(tmp_path / 'odd[1]')))
    assert odd.num_steps == 3 and odd.scalars[0]
    assert len(find_runs([str(tmp_path / 'odd[1]')])[0].metrics) == 3
    write_run(tmp_path / 'bench/rbc_x/seed_1')
    write_run(tmp_path / 'bench/rbc_x/seed_0')
    runs = find_runs([str(tmp_path / 'bench')])
    assert [run.name for run in runs] == ['rbc_x', 'rbc_x']
    assert runs[0].method == 'rbc'


def test_unfinished_and_damaged(tmp_path):
    write_run(tmp_path)
    (tmp_path / 'step_2/finished.json').unlink()
    (tmp_path / 'step_1/metrics.json').write_text('{"IoU": {"cat"')
    (tmp_path / 'summary.json').write_text('[1]')
    run = load_run(str(tmp_path))
    assert run.last == 0 and run.num_steps == 3
    text = '\n'.join(run.problems)
    assert 'step_1/metrics.json cannot be read' in text
    assert 'step 2 has a result but is not marked as finished' in text
    assert 'summary.json cannot be read' in text
    _, matrix, _ = run.iou
    assert np.isnan(matrix[:, 1:]).all() and not np.isnan(matrix[:, 0]).any()


def test_values_that_are_no_numbers(tmp_path):
    run = load_run(str(write_run(tmp_path, cat=None, dog='x')))
    classes, matrix, _ = run.iou
    assert np.isnan(matrix[classes.index('cat')]).all()
    assert np.isnan(matrix[classes.index('dog')]).all()


def test_empty_folder(tmp_path):
    (run,) = find_runs([str(tmp_path)])
    assert run.problems == [f'{tmp_path} holds no step']


def test_numbers_of_the_paper_are_those_of_the_readmes():
    for method in METHODS:
        text = (CONFIGS / method / 'README.md').read_text()
        for task in ('19-1', '15-5', '15-1'):
            for setting in ('overlapped', 'disjoint'):
                (row,) = [
                    line.split('|')[2:5]
                    for line in text.splitlines()
                    if line.startswith(f'| {task} {setting} |')
                ]
                numbers = paper_numbers(method, task, setting)
                assert tuple(map(float, row)) == numbers, (method, task)
    assert paper_numbers('rbc', '5-3', 'overlapped') is None
    assert paper_numbers('mine', '15-1', 'overlapped') is None


def test_conditions():
    assert same_conditions(dict(CONDITIONS, crop_size=(512, 512)))
    assert not same_conditions(dict(CONDITIONS, backbone='ResNet-18'))
    assert not same_conditions(None)
