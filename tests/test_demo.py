"""The notebook of demo/ runs from its first cell to its last."""

import json
import os

import pytest
from helpers import REPO

NOTEBOOK = REPO / 'demo/add_a_class.ipynb'
LARGEST = 300 * 1024


def cells() -> list[dict]:
    return json.loads(NOTEBOOK.read_text())['cells']


def test_it_is_small_and_shows_its_pictures():
    assert NOTEBOOK.stat().st_size < LARGEST
    code = [cell for cell in cells() if cell['cell_type'] == 'code']
    shown = [
        output
        for cell in code
        for output in cell['outputs']
        if 'image/png' in output.get('data', {})
    ]
    assert len(code) == 6 and len(shown) == 3


@pytest.mark.skipif(
    'MMSEG_RBC_NOTEBOOK' not in os.environ,
    reason='set MMSEG_RBC_NOTEBOOK=1 to run the notebook (27 s of CPU time)',
)
def test_it_runs(tmp_path, monkeypatch):
    """Old classes stay, and the new one is learned."""
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    for cell in cells():
        if cell['cell_type'] == 'code':
            exec(''.join(cell['source']), space)
    before, after = (r['metrics'] for r in space['added'].results)
    assert before['mIoU_old'] > 80
    assert after['mIoU_old'] > before['mIoU_old'] - 10
    assert after['IoU.car'] > 20
