"""Work dirs with gaps and damage are read as far as they go."""

from pathlib import Path

import numpy as np
from helpers import NAMES, write_run

from mmseg_rbc.runs.run import find_runs, load_run


def test_complete_run(tmp_path):
    run = load_run(write_run(tmp_path / 'ft', seed=4).path)
    assert run.last == 2 and not run.problems
    assert (run.name, run.seed, run.num_steps, run.num_base) == ('ft', 4, 3, 3)
    classes, matrix, first = run.iou
    assert classes == NAMES and first.tolist() == [0, 0, 0, 1, 2]
    assert matrix[3, 1:].tolist() == [43, 33] and np.isnan(matrix[3, 0])
    assert [s['loss'] for s in run.scalars[1]] == [1, 0.5]
    assert run.config() == 'a = 1\n'


def test_names_and_search(tmp_path):
    odd = load_run(write_run(tmp_path / 'odd[1]').path)
    assert odd.num_steps == 3 and odd.scalars[0]
    assert len(find_runs([str(tmp_path / 'odd[1]')])[0].metrics) == 3
    write_run(tmp_path / 'bench/rbc_x/seed_1')
    write_run(tmp_path / 'bench/rbc_x/seed_0')
    runs = find_runs([str(tmp_path / 'bench')])
    assert [run.name for run in runs] == ['rbc_x', 'rbc_x']
    assert runs[0].method == 'rbc'


def test_unfinished_and_damaged(tmp_path):
    folder = write_run(tmp_path)
    Path(folder.step(2).finished).unlink()
    Path(folder.step(1).metrics).write_text('{"IoU": {"cat"')
    Path(folder.summary).write_text('[1]')
    run = load_run(folder.path)
    assert run.last == 0 and run.num_steps == 3
    text = '\n'.join(run.problems)
    assert f'{folder.step(1).metrics} cannot be read' in text
    assert 'step 2 has a result but is not marked as finished' in text
    assert f'{folder.summary} cannot be read' in text
    _, matrix, _ = run.iou
    assert np.isnan(matrix[:, 1:]).all()
    assert matrix[:, 0].tolist() == [50, 51, 52]


def test_values_that_are_no_numbers(tmp_path):
    iou = dict(cat=None, dog='x')
    classes, matrix, _ = load_run(write_run(tmp_path, iou=iou).path).iou
    assert np.isnan(matrix[classes.index('cat')]).all()
    assert np.isnan(matrix[classes.index('dog')]).all()
    assert matrix[0].tolist() == [50, 40, 30]


def test_newest_context_bias_and_config(tmp_path):
    folder = write_run(tmp_path)
    for step in (1, 2):
        Path(folder.step(step).context_bias).write_text(f'{{"a": {step}}}')
    Path(folder.step(1).config).write_text('b = 2\n')
    Path(folder.step(2).config).unlink()
    run = load_run(folder.path)
    assert run.context_bias == {'a': 2} and run.config() == 'b = 2\n'


def test_empty_folder(tmp_path):
    (run,) = find_runs([str(tmp_path)])
    assert run.problems == [f'{tmp_path} holds no step']
    assert run.last == -1 and run.seed is None and run.config() == ''
