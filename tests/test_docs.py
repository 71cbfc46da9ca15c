"""The worked example of docs/add_a_method.md runs as it stands there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).parents[1]


def write_files(document: Path, folder: Path) -> list[Path]:
    """Write the code blocks that begin with the name of a file."""
    blocks = re.findall(
        r'```python\n# (\S+\.py)\n(.*?)```', document.read_text(), re.DOTALL
    )
    paths = []
    for name, code in blocks:
        paths.append(folder / name)
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(code)
    return paths


def test_method_of_your_own(tiny_root, tmp_path):
    _, config = write_files(REPO / 'docs/add_a_method.md', tmp_path)
    shutil.copytree(REPO / 'configs/_base_', tmp_path / 'configs/_base_')
    command = [sys.executable, str(REPO / 'tools/train.py'), str(config)]
    command += ['--work-dir', 'run', '--cfg-options', 'continual.task=15-5']
    command += [f'continual.data_root={tiny_root}', 'crop_size=(32,32)']
    command += ['schedule.base.epochs=1', 'schedule.later.epochs=1']
    command += ['default_hooks.logger.interval=1']
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=dict(os.environ, PYTHONPATH='.', OMP_NUM_THREADS='1'),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (log,) = (tmp_path / 'run/step_1').glob('*/*.log')
    values = re.findall(r'loss_cosine: (\d+\.\d+)', log.read_text())
    assert len(values) > 1 and float(values[-1]) > 0
    assert 'loss_kd' in log.read_text(), 'the rest of MiB is there'
    summary = json.loads((tmp_path / 'run/summary.json').read_text())
    assert len(summary['steps']) == 2
