"""The worked example of docs/add_a_method.md runs as it stands there."""

import json
import re
import shutil
from pathlib import Path

from helpers import CONFIGS, REPO, logged, run_tool


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
    shutil.copytree(CONFIGS / '_base_', tmp_path / 'configs/_base_')
    run_tool(
        *('train.py', config, '--work-dir', 'run'),
        *('--cfg-options', 'continual.task=15-5'),
        *(f'continual.data_root={tiny_root}', 'crop_size=(32,32)'),
        *('schedule.base.epochs=1', 'schedule.later.epochs=1'),
        'default_hooks.logger.interval=1',
        cwd=tmp_path,
        env=dict(PYTHONPATH='.'),
    )
    lines = logged(tmp_path / 'run/step_1')
    assert len(lines) > 1 and lines[-1]['loss_cosine'] > 0
    assert lines[-1]['loss_kd'] > 0, 'the rest of MiB is there'
    summary = json.loads((tmp_path / 'run/summary.json').read_text())
    assert len(summary['steps']) == 2
