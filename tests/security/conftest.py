"""A run from elsewhere, and tools that meet it.

Each payload would leave a mark. That it can is shown by the same tool on the
same file, once the user trusts checkpoints, or by a careless reader.
docs/security.md lists what is tried.
"""

import runpy
import shutil
import sys
from pathlib import Path

import pytest
from helpers import REPO

from mmseg_rbc.utils.safe_loading import TRUST


@pytest.fixture
def mark(tmp_path) -> Path:
    return tmp_path / 'mark'


@pytest.fixture
def work_dir(tiny_run, tmp_path) -> Path:
    """A finished run that came from elsewhere."""
    return Path(shutil.copytree(tiny_run, tmp_path / 'plop'))


@pytest.fixture
def options(tiny_root) -> list[str]:
    """What the run was trained with, see make_tiny_config."""
    return [
        '--cfg-options',
        'continual.task=15-5',
        f'continual.data_root={tiny_root}',
        'crop_size=(32,32)',
        'default_hooks.checkpoint.interval=1',
        *(
            f'schedule.{part}.{key}={value}'
            for part in ('base', 'later')
            for key, value in dict(lr=0.01, epochs=2, batch_size=8).items()
        ),
    ]


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Run a tool in this process, which has imported everything already."""

    def run(tool: str, *args: object) -> str:
        monkeypatch.setattr(sys, 'argv', [tool, *map(str, args)])
        ended = ''
        try:
            runpy.run_path(str(REPO / 'tools' / tool), run_name='__main__')
        except (Exception, SystemExit) as error:
            ended = str(error)
        return ''.join(capsys.readouterr()) + ended

    return run


@pytest.fixture
def attack(run_here, mark, monkeypatch):
    """Run a tool on a poisoned file, then once more with trust."""

    def run(sentence: str, tool: str, *args: object) -> None:
        printed = run_here(tool, *args)
        assert sentence in printed, printed[-3000:]
        assert not mark.exists(), f'{tool} ran the payload'
        monkeypatch.setenv(TRUST, '1')
        run_here(tool, *args)
        assert mark.exists(), 'the payload cannot run at all'

    return run


@pytest.fixture
def image(tiny_root) -> Path:
    return sorted((Path(tiny_root) / 'JPEGImages').iterdir())[0]
