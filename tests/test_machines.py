"""Two machines: two agents of torchrun on loopback."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from helpers import (
    CONFIGS,
    REPO,
    assert_equal_weights,
    free_port,
    run_tool,
    tool_environment,
    weights,
)

CONFIG = CONFIGS / 'rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py'
OPTIONS = [
    'continual.task=15-5',
    'crop_size=(32,32)',
    'schedule.base.epochs=1',
    'schedule.later.epochs=3',
    'default_hooks.checkpoint.interval=1',
    # There are five iterations in an epoch.
    'default_hooks.kill.type=KillOne',
    'default_hooks.kill.iteration=7',
    'custom_imports.imports=[mmseg_rbc,helpers]',
]


def start_machines(
    number: int, folders: list[Path], *args: object, **env: str
) -> list[subprocess.Popen]:
    """Start tools/dist_train.sh as on two machines, each in its folder."""
    port = str(free_port())
    return [
        subprocess.Popen(
            ['bash', REPO / 'tools/dist_train.sh', CONFIG, str(number)]
            + [str(arg) for arg in args],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env=tool_environment(
                NNODES='2', NODE_RANK=str(rank), PORT=port, **env
            ),
        )
        for rank, folder in enumerate(folders)
    ]


def left_behind(word: str) -> list[str]:
    """Return the commands of all processes that name a folder."""
    found = []
    for path in Path('/proc').glob('[0-9]*/cmdline'):
        try:
            found.append(path.read_text())
        except OSError:
            continue
    return [line for line in found if word in line]


@pytest.mark.skipif(not Path('/proc/self').exists(), reason='needs /proc')
def test_a_killed_process_ends_all_and_the_run_goes_on(tiny_root, tmp_path):
    """Two times two processes; the last one is killed in step 1."""
    options = [f'continual.data_root={tiny_root}', *OPTIONS]
    whole, cut = tmp_path / 'whole', tmp_path / 'cut'
    args = ['--work-dir', cut, '--cfg-options', *options]
    machines = start_machines(2, [tmp_path] * 2, *args, KILL_RANK='3')
    mark = cut / 'step_1/killed'
    try:
        while not mark.exists():
            assert [one.poll() for one in machines] == [None, None]
            time.sleep(0.1)
        printed = [one.communicate(timeout=300)[0] for one in machines]
    finally:
        for one in machines:
            one.kill()
    seconds = time.time() - mark.stat().st_mtime
    print(f'all ended within {seconds:.1f} s')
    assert all(one.returncode for one in machines), printed
    assert 'another process of this run ended (Connection' in printed[0]
    assert 'Signal 9 (SIGKILL)' in printed[1]
    assert left_behind(str(cut)) == []
    assert (cut / 'step_1/epoch_1.pth').exists()
    run = ['train.py', CONFIG, '--cfg-options', *options, '--work-dir']
    run_tool(*run, cut, '--resume', processes=4)
    run_tool(*run, whole, processes=4)
    done = []
    for step in ('step_0', 'step_1'):
        finals = [weights(run / step / 'final.pth') for run in (cut, whole)]
        assert_equal_weights(*finals)
        results = [(run / step / 'finished.json') for run in (cut, whole)]
        done += [json.loads(path.read_text()) for path in results]
    assert [one['resumed'] for one in done] == [False, False, True, False]
    assert done[2]['metrics'] == done[3]['metrics']
