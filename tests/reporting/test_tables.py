"""Tables of results as text."""

from pathlib import Path

from helpers import write_run

from mmseg_rbc.reporting.tables import (
    benchmark_table,
    context_bias_table,
    summary_table,
)
from mmseg_rbc.runs.experiment import find_experiments
from mmseg_rbc.runs.run import find_runs


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_summary_table():
    metrics = dict(mIoU_old=12.25, mIoU_all=7)
    text = summary_table([dict(step=0, metrics=metrics)], 'title')
    title, _, head, _, row, _ = text.splitlines()
    assert title == 'title'
    assert cells(head) == ['step', 'mIoU old', 'mIoU new', 'mIoU all']
    assert cells(row) == ['0', '12.25', '-', '7.00']
    assert summary_table([]).startswith('+')


def test_mean_and_deviation_over_seeds(tmp_path):
    write_run(tmp_path / 'a/seed_0')
    write_run(tmp_path / 'a/seed_1', level=54.0, seed=1)
    unfinished = write_run(tmp_path / 'b')
    for step in (1, 2):
        Path(unfinished.step(step).finished).unlink()
    experiments, _ = find_experiments(find_runs([str(tmp_path)]))
    _, head, _, a, b, _ = benchmark_table(experiments).splitlines()
    assert cells(head) == ['run', 'mIoU old', 'mIoU new', 'mIoU all']
    # 31 and 35, 33.5 and 37.5, 32 and 36; the deviation is the root of 8.
    expected = ['33.00 ± 2.83', '35.50 ± 2.83', '34.00 ± 2.83']
    assert cells(a) == ['a', *expected]
    assert cells(b) == ['b', '51.00', '-', '51.00']


def test_context_bias_table():
    row = dict(flipped=1, right=50, lost=None, probability_drop=0, iou_drop=-2)
    result = dict(by_class=dict(cat=row), mean=dict(row, flipped=float('nan')))
    _, head, _, cat, mean, _ = context_bias_table(result).splitlines()
    assert cells(head)[:4] == ['class', 'flipped', 'right', 'lost']
    assert cells(cat) == ['cat', '1.0', '50.0', '-', '0.0', '-2.0']
    assert cells(mean) == ['mean', '-', '50.0', '-', '0.0', '-2.0']
