"""Work dirs with gaps and damage are read as far as they go."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from helpers import NAMES, write_run

from mmseg_rbc.reporting.report import write_report
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


@pytest.mark.parametrize(
    'file, key, value, sentence',
    [
        (
            'finished',
            'seconds',
            'long',
            "seconds is 'long', expected a number",
        ),
        (
            'finished',
            'seconds',
            10**400,
            'seconds is .*, expected a number: l',
        ),
        (
            'finished',
            'peak_memory_mb',
            [],
            r"is '\[\]', expected a number: le",
        ),
        ('finished', 'versions', 'torch 2', 'versions is .*, expected an obj'),
        ('finished', 'shown', 'cat', "shown is 'cat', expected a list: left"),
        (
            'finished',
            'seed',
            [1, 2],
            r"'\[1, 2\]', expected a plain value: le",
        ),
        ('metrics', 'IoU', 3, "IoU is '3', expected an object: left out"),
        (
            'metrics',
            'num_base',
            'a',
            "num_base is 'a', expected a whole numbe",
        ),
        (
            'metrics',
            'num_images',
            1.5,
            "is '1.5', expected a whole number: le",
        ),
        ('metrics', 'task', {}, "task is '{}', expected text: left out"),
        ('context_bias', 'mean', [1], r"mean is '\[1\]', expected an object"),
    ],
)
def test_values_of_another_kind(tmp_path, file, key, value, sentence):
    """They are left out and said to be; the report is made of the rest."""
    folder = write_run(tmp_path / 'run')
    path = Path(getattr(folder.step(1), file))
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, key: value}))
    run = load_run(folder.path)
    (problem,) = run.problems
    assert problem.startswith(f'{path}: ') and re.search(sentence, problem)
    assert Path(write_report([run], str(tmp_path / 'report'))).is_file()


@pytest.mark.parametrize('number', [10**7, -1, '3', 2.5])
def test_number_of_steps_that_cannot_be(tmp_path, number):
    folder = write_run(tmp_path)
    Path(folder.summary).write_text(json.dumps(dict(num_steps=number)))
    (tmp_path / 'step_99999999').mkdir()
    run = load_run(folder.path)
    assert run.num_steps == 3
    (problem,) = run.problems
    assert f'{folder.summary}: num_steps is ' in problem


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
