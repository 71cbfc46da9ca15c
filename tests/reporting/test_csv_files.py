"""The numbers of runs as CSV."""

import csv
from pathlib import Path

import pytest
from helpers import write_run

from mmseg_rbc.reporting.csv_files import write_csv
from mmseg_rbc.runs.experiment import find_experiments
from mmseg_rbc.runs.run import find_runs


def read(path: Path) -> list[dict]:
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def test_values(tmp_path):
    folder = write_run(tmp_path / 'rbc', seed=4)
    unfinished = write_run(tmp_path / 'ft', iou=dict(cat=None))
    Path(unfinished.step(2).finished).unlink()
    runs = find_runs([unfinished.path, folder.path])
    write_csv(find_experiments(runs)[0], str(tmp_path))
    rows = read(tmp_path / 'summary.csv')
    keys = [(r['run'], r['background'], r['last_step']) for r in rows]
    assert keys == [
        ('ft', 'True', '1'),
        ('ft', 'False', '1'),
        ('rbc', 'True', '2'),
        ('rbc', 'False', '2'),
    ]
    with_background, without = rows[2:]
    expected = dict(
        old=31,
        new=33.5,
        all=32,
        mean=(51 + 41.5 + 32) / 3,
        harmonic=2 * 31 * 33.5 / (31 + 33.5),
        forgetting=(3 * 20 + 10) / 4,
        transfer=-(3 * 20 + 10) / 4,
    )
    for key, value in expected.items():
        assert float(with_background[key]) == pytest.approx(value, abs=1e-4)
    assert with_background['seed'] == '4'
    assert float(without['old']) == 31.5
    assert float(without['forgetting']) == pytest.approx(50 / 3, abs=1e-4)
    rows = read(tmp_path / 'iou.csv')
    # The class without a value and the unfinished step are not there.
    assert len(rows) == (2 + 3) + (3 + 4 + 5)
    last = dict(run='rbc', seed='4', step='2', iou='34.0000')
    assert rows[-1] == {**last, 'class': 'bus'}


def test_nothing(tmp_path):
    write_csv([], str(tmp_path))
    for name in ('summary.csv', 'iou.csv'):
        assert len((tmp_path / name).read_text().splitlines()) == 1
