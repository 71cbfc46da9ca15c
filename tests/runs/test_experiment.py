"""Runs with several seeds: put together, averaged, or left out."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from helpers import NAMES, write_run

from mmseg_rbc.reporting.report import write_report
from mmseg_rbc.runs.experiment import (
    find_benchmark,
    find_experiments,
    missing_seeds,
    unequal_evaluations,
)
from mmseg_rbc.runs.run import find_runs


@pytest.fixture
def root(tmp_path) -> Path:
    """RBC with two seeds, FT with one, Joint."""
    write_run(tmp_path / 'rbc/seed_0')
    write_run(tmp_path / 'rbc/seed_1', level=54.0, seed=1)
    write_run(tmp_path / 'ft')
    write_run(tmp_path / 'joint', sizes=[5], task='offline')
    return tmp_path


def test_numbers_over_seeds(root):
    experiments, problems = find_experiments(find_runs([str(root)]))
    assert [e.name for e in experiments] == ['ft', 'joint', 'rbc']
    assert not problems
    rbc = experiments[2]
    assert rbc.method == 'rbc' and [r.seed for r in rbc.runs] == [0, 1]
    classes, matrix, first = rbc.matrix()
    assert classes == NAMES and first.tolist() == [0, 0, 0, 1, 2]
    assert matrix[:, 2].tolist() == [32, 33, 34, 35, 36]
    assert rbc.curve() == [53, 43.5, 34]
    numbers = rbc.numbers()
    assert numbers['new']['values'] == [33.5, 37.5]
    assert numbers['all']['mean'] == 34
    assert numbers['all']['std'] == pytest.approx(8**0.5)
    assert numbers['forgetting']['mean'] == (3 * 20 + 10) / 4
    assert rbc.numbers(background=False)['old']['values'] == [31.5, 35.5]


def test_seeds_that_others_have(root):
    experiments, _ = find_experiments(find_runs([str(root)]))
    # Joint needs no seed: it is only the level of the others.
    assert missing_seeds(experiments) == [
        'ft has no result with seed 1, which other runs have'
    ]


def test_task_that_all_share(root):
    runs = find_runs([str(root)])
    assert find_benchmark(runs) == ('2-1', 'overlapped')
    write_run(root / 'other', task='2-2')
    assert find_benchmark(find_runs([str(root)])) == (None, None)
    assert find_benchmark([]) == (None, None)


def test_seed_that_got_less_far_is_left_out(root):
    folder = write_run(root / 'rbc/seed_2', seed=2)
    Path(folder.step(2).finished).unlink()
    experiments, (problem,) = find_experiments(find_runs([str(root)]))
    assert [run.seed for run in experiments[2].runs] == [0, 1]
    assert 'seed_2 got to step 1 only, other seeds of rbc to step 2' in problem


def test_equal_names_of_other_tasks_stay_apart(tmp_path):
    write_run(tmp_path / 'a/rbc')
    write_run(tmp_path / 'b/rbc', task='2-2', level=90.0)
    write_run(tmp_path / 'c/rbc', task='2-2')
    experiments, (problem,) = find_experiments(find_runs([str(tmp_path)]))
    names = ['rbc 2-1 overlapped', 'rbc 2-2 overlapped']
    assert [e.name for e in experiments] == names
    assert [len(e.runs) for e in experiments] == [1, 1]
    assert 'c/rbc has the name' in problem and 'seed 0' in problem


def test_unfinished_run_counts_up_to_its_last_result(tmp_path):
    folder = write_run(tmp_path)
    for step in (1, 2):
        Path(folder.step(step).finished).unlink()
    (experiment,), _ = find_experiments(find_runs([folder.path]))
    assert experiment.curve() == [51]
    assert experiment.matrix()[1].tolist() == [[50], [51], [52]]
    assert np.isnan(experiment.numbers()['forgetting']['mean'])


def test_run_without_a_result_is_in_none(tmp_path):
    assert find_experiments(find_runs([str(tmp_path)])) == ([], [])


def test_unequal_validation_sets(tmp_path):
    for name, images in [('a', 6), ('b', 6), ('c', 7)]:
        folder = write_run(tmp_path / name)
        for step in range(3):
            path = Path(folder.step(step).metrics)
            content = json.loads(path.read_text())
            content.update(num_images=images, unseen='background')
            path.write_text(json.dumps(content))
    experiments, _ = find_experiments(find_runs([str(tmp_path)]))
    assert unequal_evaluations(experiments[:2]) == []
    (sentence,) = unequal_evaluations(experiments)
    assert f'{tmp_path}/a on 6 images, unseen background; ' in sentence
    assert f'{tmp_path}/c on 7 images' in sentence
    report = Path(
        write_report(find_runs([str(tmp_path)]), str(tmp_path / 'r'))
    )
    assert 'not all runs are evaluated alike' in report.read_text()


@pytest.mark.parametrize(
    'name, value, old',
    [('not learned yet', None, 31.5), ('sky', 30, 31), ('Background', 30, 31)],
)
def test_one_mean_of_old_classes(tmp_path, name, value, old):
    """In table, CSV and page; class 0 is none, a class, or background."""
    names, out = [name, *NAMES[1:]], tmp_path / 'out'
    write_run(tmp_path / 'run', classes=names, iou={name: value})
    runs = find_runs([str(tmp_path)])
    write_report(runs, str(out))
    (experiment,), _ = find_experiments(runs)
    with (out / 'summary.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    without = 31.5 if name == 'Background' else old
    for row, expected in zip(rows, (old, without)):
        background = row['background'] == 'True'
        numbers = experiment.numbers(background)
        assert numbers['old']['values'] == [expected]
        assert float(row['old']) == expected
    lowest = experiment.lowest()
    assert np.isnan(lowest['background']) == (name != 'Background')
    assert f'| run | {old:.1f} |' in (out / 'tables.md').read_text()
