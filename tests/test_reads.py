"""How often a run reads and writes its checkpoints."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from mmseg_rbc.engine import run_sequence

OPENED: list[tuple[str, str]] = []


def note_opening(event: str, args: tuple) -> None:
    if event == 'open' and '.pth' in str(args[0]):
        path = Path(str(args[0]))
        # A part of a file that is being written has its name first.
        name = path.name.split('.pth')[0]
        OPENED.append((f'{path.parent.name}/{name}', args[1][0]))


@pytest.fixture(scope='module')
def openings() -> list[tuple[str, str]]:
    """Return what is opened: an audit hook stays for ever, so one is set."""
    sys.addaudithook(note_opening)
    return OPENED


@pytest.mark.parametrize('method', ['ewc', 'rbc'])
def test_checkpoints_are_read_once_and_written_once(
    openings, tiny_config, tmp_path, method
):
    cfg, options = tiny_config(method)
    openings.clear()
    run_sequence(cfg, str(tmp_path), options=options)
    names = ['final', 'epoch_1', 'epoch_2']
    expected = [('step_0/final', 'r')]
    if method == 'ewc':
        names.append('importance')
        expected.append(('step_0/importance', 'r'))
    expected += [(f'step_{i}/{name}', 'w') for i in (0, 1) for name in names]
    assert Counter(openings) == Counter(expected)
