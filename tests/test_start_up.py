"""How soon a tool answers, and what importing the package adds to MMSeg."""

import os
import runpy
import subprocess
import sys

import pytest
from helpers import REPO

TOOLS = sorted((REPO / 'tools').glob('**/*.py'))
# Each of them takes longer to import than a second of patience allows.
HEAVY = ('torch', 'mmcv', 'mmseg', 'mmseg_rbc', 'matplotlib')
HELP = f"""
import os
import runpy
import sys
import time

for tool in sys.argv[1:]:
    sys.argv = [tool, '--help']
    try:
        runpy.run_path(tool, run_name='__main__')
    except SystemExit as end:
        assert end.code == 0
    heavy = [name for name in {HEAVY} if name in sys.modules]
    assert not heavy, f'{{tool}} imports {{heavy}} before it answers'
print('seconds', time.process_time())
"""
IMPORT = """
import time

import mmengine.runner
from mmseg.utils import register_all_modules

register_all_modules()
before = time.process_time()
import mmseg_rbc

print('seconds', before, time.process_time() - before)
"""


def seconds(code: str, *args: object) -> list[float]:
    """Run code in a fresh interpreter; return the CPU times it prints."""
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPO,
    )
    assert done.returncode == 0, done.stderr
    return [float(part) for part in done.stdout.split('seconds')[-1].split()]


def test_help_answers_without_torch():
    """All tools in one interpreter: less than a second for each."""
    assert len(TOOLS) >= 11
    assert seconds(HELP, *TOOLS)[0] < 3, 'for all of them; measured: 0.4'


def test_import_adds_little_to_mmseg():
    """Of CPU time, as a part of MMSeg's own, so that load does not matter."""
    mmseg, ours = seconds(IMPORT)
    assert ours < 0.3 / 3 * mmseg, 'MMSeg takes 3 s where nothing else runs'


@pytest.mark.parametrize('name', ['train.py', 'test.py'])
def test_launcher_arguments(name, monkeypatch):
    """Of both spellings: torchrun's and that of older launchers."""
    tool = str(REPO / 'tools' / name)
    parse_args = runpy.run_path(tool)['parse_args']
    files = ['config.py', 'final.pth'][: 1 + (name == 'test.py')]
    for more, expected in [
        ([], ('none', 0)),
        (['--launcher', 'pytorch', '--local_rank=3'], ('pytorch', 3)),
        (['--launcher', 'slurm', '--local-rank=3'], ('slurm', 3)),
    ]:
        monkeypatch.setattr(sys, 'argv', [tool, *files, *more])
        args = parse_args()
        assert (args.launcher, args.local_rank) == expected


def test_scripts_answer_before_they_install_anything(tmp_path):
    """From another folder, by a path that is relative to it."""
    for name in ('quickstart.sh', 'run_tests.sh'):
        script = os.path.relpath(REPO / 'tools' / name, tmp_path)
        command = ['bash', script, '--help']
        result = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        first, *_, last = result.stdout.splitlines()
        assert first.startswith('Install')
        assert f'  bash tools/{name}' in result.stdout
        assert last and not last.startswith(('set', '#')), 'the header ends'
        assert result.stderr == ''


def test_quick_start_takes_no_arguments(tmp_path):
    result = subprocess.run(
        ['bash', REPO / 'tools/quickstart.sh', '--all', '3'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2 and result.stdout == ''
    said = "quickstart.sh takes no arguments, found '--all 3'\n"
    assert result.stderr == said
