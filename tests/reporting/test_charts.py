"""The figures of the page."""

import math
import re
from dataclasses import replace

import pytest
from helpers import write_run

from mmseg_rbc.reporting import charts
from mmseg_rbc.reporting.sections import Entry, make_entries
from mmseg_rbc.runs.experiment import find_experiments
from mmseg_rbc.runs.run import find_runs


@pytest.fixture
def entries(tmp_path) -> list[Entry]:
    write_run(tmp_path / 'a b', iou=dict(bus=1.0))
    write_run(tmp_path / 'joint', sizes=[5], task='offline')
    experiments, _ = find_experiments(find_runs([str(tmp_path)]))
    return make_entries(experiments, '2-1', 'overlapped')


def texts(svg: str) -> list[str]:
    return re.findall(r'<text[^>]*>([^<]*)</text>', svg)


def test_curves(entries, tmp_path):
    svg = charts.write_curves(entries, str(tmp_path))
    assert texts(svg)[-2:] == ['a b', 'joint']
    assert (tmp_path / 'curves.png').exists()


def test_paper_is_drawn_where_it_can_be_compared(entries, tmp_path):
    lines = []
    for is_comparable in (False, True):
        paper = replace(
            entries[0], paper=(3.0, 1.0, 2.0), is_comparable=is_comparable
        )
        svg = charts.write_curves([paper], str(tmp_path))
        lines.append(svg.count('<g id="line2d_'))
    assert lines[1] == lines[0] + 1


def test_files_of_heat_maps(entries, tmp_path):
    charts.write_heat_maps(entries, str(tmp_path))
    names = sorted(path.name for path in tmp_path.glob('*.png'))
    assert names == ['heatmap_a_b.png', 'heatmap_joint.png']


def test_forgetting_worst_first(entries, tmp_path):
    svg = charts.write_forgetting(entries, str(tmp_path))
    found = texts(svg)
    order = [name for name in found if name in ('cow', 'cat', 'bus')]
    # The last step has nothing to forget.
    assert order == ['cat', 'cow']
    assert 'joint' not in found, 'one step forgets nothing'
    assert (tmp_path / 'forgetting.png').exists()
    assert charts.write_forgetting(entries[1:], str(tmp_path)) is None


def test_losses(entries, tmp_path):
    run = entries[0].run
    assert charts.loss_points(run) == [
        (step + share, loss)
        for step in range(3)
        for share, loss in ((0.5, 1.0), (1.0, 0.5))
    ]
    svg = charts.write_losses(entries, str(tmp_path))
    assert 'training loss' in texts(svg)
    (tmp_path / 'losses.png').unlink()
    run.scalars[:] = [[dict(iter=1, loss=math.nan)], [], []]
    assert charts.write_losses(entries[:1], str(tmp_path)) is None
    assert not (tmp_path / 'losses.png').exists()
