"""The worked examples of docs/add_a_method.md run as they stand there."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from helpers import (
    CONFIGS,
    REPO,
    assert_equal_weights,
    logged,
    run_tool,
    weights,
)

from mmseg_rbc.models.fusion import fuse_state_dict


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


@pytest.fixture
def train(tiny_root, tmp_path):
    """Write the files of the document, and train one of its configs."""

    def run(name: str) -> Path:
        paths = write_files(REPO / 'docs/add_a_method.md', tmp_path)
        (config,) = (path for path in paths if path.parent.name == name)
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
        return tmp_path / 'run'

    return run


def test_method_of_your_own(train):
    run = train('mib-cosine')
    lines = logged(run / 'step_1')
    assert len(lines) > 1 and lines[-1]['loss_cosine'] > 0
    assert lines[-1]['loss_kd'] > 0, 'the rest of MiB is there'
    summary = json.loads((run / 'summary.json').read_text())
    assert len(summary['steps']) == 2


def test_memory_and_fusion_of_your_own(train):
    run = train('mib-new')
    for step in (0, 1):
        text = (run / f'step_{step}/memory.json').read_text()
        records = json.loads(text)
        assert len(records) == 8
        assert {record['step'] for record in records} == {step}
    before = weights(run / 'step_0/final.pth')
    trained = weights(run / 'step_1/epoch_1.pth')
    final = weights(run / 'step_1/final.pth')
    assert_equal_weights(final, fuse_state_dict(before, trained, 0.5))
    key = 'decode_head.conv_seg.weight'
    assert not torch.equal(trained[key][:16], before[key]), 'not fixed'
