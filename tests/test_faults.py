"""A training through faults of disk and processes ends like any other.

Each fault is real: a small or read-only file system, a limit of the kernel, a
killed process. docs/faults.md lists what happens.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from helpers import (
    CONFIGS,
    REPO,
    assert_equal_weights,
    tool_environment,
    weights,
)

from mmseg_rbc.datasets.shapes import make_shapes

CONFIG = CONFIGS / 'ewc/ewc_fcn-tiny_shapes-15-1-overlapped.py'
# Between config and logs of a step, and its checkpoints.
LIMIT = 500_000
MOUNTED = """
set -u
mount --bind "$DATA" "$DATA" && mount -o remount,ro,bind "$DATA" || exit 77
mount -t tmpfs -o size=$SIZE tmpfs "$RUN" || exit 77
"$@"; echo "exit code $?"
mount -o remount,size=100m,ro "$RUN"
"$@"; echo "exit code $?"
mount -o remount,rw "$RUN"
"$@"; echo "exit code $?"
cp -r "$RUN" "$KEPT"
"""


def command(root: str | Path, work_dir: Path) -> list[str]:
    """Return a training of two steps with a process that loads data."""
    options = [
        *(f'continual.data_root={root}', 'continual.task=15-5'),
        *('schedule.base.epochs=8', 'schedule.later.epochs=2'),
        *('crop_size=(32,32)', 'default_hooks.checkpoint.interval=1'),
        'train_dataloader.num_workers=1',
    ]
    train = [sys.executable, str(REPO / 'tools/train.py'), str(CONFIG)]
    train += ['--resume', '--work-dir', str(work_dir)]
    return [*train, '--cfg-options', *options]


def start(root: str, work_dir: Path, **kwargs) -> subprocess.Popen:
    return subprocess.Popen(
        command(root, work_dir),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=tool_environment(),
        **kwargs,
    )


def fail(process: subprocess.Popen) -> str:
    """Return the sentence that a process fails with."""
    out, _ = process.communicate()
    assert process.returncode == 1, out[-4000:]
    assert 'Traceback' not in out and 'Logging error' not in out
    return sentence(out)


def sentence(out: str) -> str:
    """Return the one line that says error."""
    lines = [line for line in out.splitlines() if 'error: ' in line]
    assert len(lines) == 1, out[-4000:]
    assert lines[0].endswith('with --resume goes on from there')
    return lines[0]


def results(work_dir: Path) -> dict[str, dict]:
    names = ('step_0/final.pth', 'step_1/final.pth')
    found = {name: weights(work_dir / name) for name in names}
    metrics = json.loads((work_dir / 'step_1/metrics.json').read_text())
    # Others may work on the repository meanwhile.
    metrics.pop('git')
    return dict(found, metrics=metrics)


def assert_same(work_dir: Path, undisturbed: dict[str, dict]) -> None:
    found = results(work_dir)
    assert found.pop('metrics') == undisturbed['metrics']
    for name, network in found.items():
        assert_equal_weights(network, undisturbed[name])
    assert not list(work_dir.rglob('*.part'))


@pytest.fixture(scope='module')
def undisturbed(tiny_root, tmp_path_factory) -> dict[str, dict]:
    work_dir = tmp_path_factory.mktemp('undisturbed')
    process = start(tiny_root, work_dir)
    out, _ = process.communicate()
    assert process.returncode == 0, out[-4000:]
    return results(work_dir)


def kill_workers(process: subprocess.Popen) -> None:
    """Kill every copy of a process, which are its data workers."""
    own = Path(f'/proc/{process.pid}')
    children = own / f'task/{process.pid}/children'
    mine = (own / 'cmdline').read_bytes()
    while process.poll() is None:
        try:
            for child in children.read_text().split():
                if Path(f'/proc/{child}/cmdline').read_bytes() == mine:
                    os.kill(int(child), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.002)


@pytest.mark.skipif(sys.platform != 'linux', reason='looks into /proc')
def test_worker_killed_disk_limit_and_file_in_the_way(
    tiny_root, tmp_path, undisturbed
):
    """Faults that need no rights, one after another in the same run."""
    process = start(tiny_root, tmp_path)
    while not (tmp_path / 'step_0/last_checkpoint').exists():
        assert process.poll() is None
        time.sleep(0.01)
    kill_workers(process)
    said = fail(process)
    assert 'a process that reads data died (DataLoader worker (pid' in said
    assert 'use fewer train_dataloader.num_workers; 0 steps in' in said
    assert ', step 0 has epoch_' in said

    kept = {path.name for path in tmp_path.glob('step_0/epoch_*.pth')}
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    said = fail(start(tiny_root, tmp_path, preexec_fn=limit))
    assert 'pth cannot be written (File too large): free some space' in said
    now = {path.name for path in tmp_path.glob('step_0/epoch_*.pth')}
    assert now and now <= kept, 'an older one makes place, no torn one comes'

    (tmp_path / 'step_1').write_text('in the way')
    said = fail(start(tiny_root, tmp_path))
    assert f'{tmp_path / "step_1"} cannot be used (File exists): ' in said
    assert f'; 1 steps in {tmp_path} are finished: ' in said

    (tmp_path / 'step_1').unlink()
    process = start(tiny_root, tmp_path)
    out, _ = process.communicate()
    assert process.returncode == 0, out[-4000:]
    assert 'step 0 is finished: skipped' in out
    assert_same(tmp_path, undisturbed)


def unshare() -> list[str]:
    """Return how to start a process whose mounts are its own."""
    for options in ('-m', '-rm'):
        test = ['unshare', options, 'mount', '-t', 'tmpfs', 'x', '/mnt']
        try:
            done = subprocess.run(test, capture_output=True, check=False)
        except FileNotFoundError:
            break
        if done.returncode == 0:
            return test[:2]
    pytest.skip('nothing may be mounted here')


def test_full_disk_then_read_only_disk_and_read_only_data(
    tmp_path, undisturbed
):
    """The work dir is a file system of its own, with room for a checkpoint."""
    run, kept, cache = (tmp_path / name for name in ('run', 'kept', 'cache'))
    run.mkdir()
    # Nobody has scanned it yet.
    data = tmp_path / 'data'
    make_shapes(str(data), 40, 6, size=(48, 64))
    places = dict(DATA=str(data), RUN=str(run), KEPT=str(kept), SIZE='2500k')
    script = [*unshare(), 'bash', '-c', MOUNTED, 'mounted']
    done = subprocess.run(
        [*script, *command(data, run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=tool_environment(MMSEG_RBC_CACHE=str(cache), **places),
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert 'Traceback' not in done.stdout
    assert 'Logging error' not in done.stdout
    full, read_only, last = done.stdout.split('exit code 1\n')
    assert 'cannot be written (No space left on device): ' in sentence(full)
    assert ', step 0 has epoch_1.pth: the same' in sentence(full)
    assert 'cannot be used (Read-only file system)' in sentence(read_only)
    assert 'exit code 0\n' in last
    assert f'Read-only file system: {str(data)!r}'[:-1] in full
    assert f'; trying {cache}' in full
    assert len(list(cache.glob('*/*.npz'))) > 1
    finished = json.loads((kept / 'step_0/finished.json').read_text())
    assert finished['resumed']
    assert_same(kept, undisturbed)
