"""tools/run_benchmark.py, stopped and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from helpers import weights

REPO = Path(__file__).parents[2]
NAMES = [f'{m}_fcn-tiny_shapes-15-1-overlapped' for m in ('ft', 'mib')]


def start(work_dir: Path, data_root: str, *args: str) -> subprocess.Popen:
    configs = [
        str(REPO / 'configs' / name.split('_')[0] / f'{name}.py')
        for name in NAMES
    ]
    tool = str(REPO / 'tools/run_benchmark.py')
    command = [sys.executable, tool, *configs, '--work-dir', str(work_dir)]
    command += [*args, '--cfg-options', f'continual.data_root={data_root}']
    command += ['continual.task=15-5', 'crop_size=(32,32)']
    command += ['schedule.base.epochs=2', 'schedule.later.epochs=2']
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, OMP_NUM_THREADS='1'),
    )


def test_stopped_and_started_again(tiny_root, tmp_path):
    process = start(tmp_path, tiny_root)
    first = tmp_path / NAMES[0] / 'seed_0'
    mark = first / 'step_0/finished.json'
    deadline = time.monotonic() + 600
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=600)
    assert mark.exists() and 'stopped; the same command continues it' in out
    assert process.returncode != 0
    stamp = mark.stat().st_mtime_ns
    process = start(tmp_path, tiny_root, '--devices', 'cpu', 'cpu')
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0, out
    assert mark.stat().st_mtime_ns == stamp, 'step 0 was not run again'
    second = tmp_path / NAMES[1] / 'seed_0'
    key = 'backbone.stem.0.weight'
    base, shared = (
        weights(run / 'step_0/final.pth')[key] for run in (first, second)
    )
    assert (base == shared).all()
    assert not list(second.glob('step_0/epoch_*.pth')), 'it was not trained'
    results = json.loads((tmp_path / 'benchmark.json').read_text())
    assert list(results) == NAMES
    for run, name in ((first, NAMES[0]), (second, NAMES[1])):
        done = json.loads((run / 'step_1/finished.json').read_text())
        expected = done['metrics']['mIoU_all']
        assert results[name]['all'] == [expected]
        assert f'{expected:.2f}' in out
    out, _ = start(tmp_path, tiny_root).communicate(timeout=600)
    assert out.count('finished before') == 2
