"""Progress in a log file, where a bar has no place, and in a terminal."""

import sys
from itertools import count
from types import SimpleNamespace

import pytest
from mmengine.logging import MMLogger

from mmseg_rbc.utils import progress
from mmseg_rbc.utils.progress import track


@pytest.fixture
def lines(tmp_path):
    """Return the lines that were logged so far."""
    path = tmp_path / 'a.log'
    MMLogger.get_instance(
        f'progress_{tmp_path.name}', log_file=str(path), log_level='INFO'
    )
    return lambda: path.read_text().splitlines()


def test_one_line_at_the_end_of_what_is_quick(lines):
    assert list(track(iter('abcd'), 'letters', 4)) == list('abcd')
    (line,) = lines()
    assert line.endswith('letters: 4/4, eta 0 s')


def test_a_line_every_ten_seconds_and_one_at_the_end(lines, monkeypatch):
    """On a clock that shows four more seconds each time it is read."""
    clock = SimpleNamespace(monotonic=count(step=4).__next__)
    monkeypatch.setattr(progress, 'time', clock)
    assert list(track(range(8), 'naps', 8)) == list(range(8))
    found = [line.split('naps: ')[1] for line in lines()]
    assert found == ['3/8, eta 20 s', '6/8, eta 8 s', '8/8, eta 0 s']


def test_nothing_to_do(lines):
    assert list(track([], 'nothing', 0)) == []
    assert lines() == []


def test_bar_in_a_terminal(lines, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: True)
    assert list(track(iter('abc'), 'letters', 3)) == list('abc')
    assert lines() == [], 'a bar is no line of a log'
    err = capsys.readouterr().err
    assert 'letters' in err and '100%' in err
