"""predict.py, context_bias.py and report.py on a finished run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import make_tiny_config
from PIL import Image

from mmseg_rbc.engine import run_sequence

REPO = Path(__file__).parents[2]


def run(tool: str, *args: object, expected: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, str(REPO / 'tools' / tool), *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, OMP_NUM_THREADS='1'),
    )
    assert done.returncode == expected, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture
def copied_run(tiny_run, tmp_path) -> Path:
    shutil.copytree(tiny_run, tmp_path / 'plop')
    return tmp_path / 'plop'


def test_predict(tiny_run, tiny_root, tmp_path):
    images = tmp_path / 'images'
    images.mkdir()
    for path in sorted((Path(tiny_root) / 'JPEGImages').iterdir())[:2]:
        shutil.copy(path, images)
    (images / 'notes.txt').write_text('no image')
    checkpoint = tiny_run / 'step_0/final.pth'
    out = tmp_path / 'out'
    text = run('predict.py', checkpoint, images, '--out', out)
    assert '2/2' in text and f'results: {out}' in text
    classes = json.loads((out / 'classes.json').read_text())
    assert len(classes) == 16 and classes['0'] == 'background'
    for path in images.glob('*.jpg'):
        with Image.open(out / f'pred/{path.stem}.png') as mask:
            assert mask.mode == 'P' and mask.size == (64, 48)
            assert np.array(mask).max() < 16
        with Image.open(out / f'vis/{path.stem}.png') as overlay:
            assert overlay.width == 2 * 64 + 6
    # The same name with another suffix, lying on its side by its EXIF tag.
    exif = Image.Exif()
    exif[274] = 6
    twin = images / f'{path.stem}.webp'
    with Image.open(path) as image:
        image.save(twin, exif=exif)
    (images / 'broken.jpg').write_bytes(b'no picture')
    text = run('predict.py', checkpoint, images, '--out', out, expected=1)
    assert '1 of 4 images could not be read' in text
    with Image.open(out / f'pred/{twin.name}.png') as mask:
        assert mask.size == (48, 64), 'upright'
    with Image.open(out / f'pred/{path.name}.png') as mask:
        assert mask.size == (64, 48)
    text = run('predict.py', 'none.pth', images, expected=1)
    assert 'none.pth does not exist' in text and 'Traceback' not in text


def test_context_bias_and_report(copied_run, tmp_path):
    checkpoint = copied_run / 'step_1/final.pth'
    text = run('analysis_tools/context_bias.py', checkpoint)
    assert 'flipped' in text and 'results:' in text
    result = json.loads((copied_run / 'step_1/context_bias.json').read_text())
    assert 0 < result['num_images'] <= 6 and len(result['erased']) == 5
    assert 0 <= result['mean']['flipped'] <= 100
    table = json.loads((copied_run / 'step_1/co_occurrence.json').read_text())
    assert np.array(table['later'], float).shape == (15, 5)
    text = run(
        'analysis_tools/context_bias.py',
        copied_run / 'step_0/final.pth',
        expected=1,
    )
    assert 'is of step 0' in text and 'Traceback' not in text
    out = tmp_path / 'report'
    run('analysis_tools/report.py', copied_run, '--images', 2, '--out', out)
    page = (out / 'report.html').read_text()
    assert 'Context bias' in page and 'Predictions' in page
    assert page.count('data:image/png;base64,') == 2
    with Image.open(out / 'predictions.png') as grid:
        # Image, truth, two steps.
        assert grid.width == 4 * (132 + 6)


def test_joint_beside_an_unfinished_run(copied_run, tiny_root, tmp_path):
    """Joint knows classes that the other run has not learned yet."""
    cfg, options = make_tiny_config(
        tiny_root, 'joint', **{'schedule.base.epochs': 1}
    )
    run_sequence(cfg, str(copied_run.parent / 'joint'), options=options)
    (copied_run / 'step_1/finished.json').unlink()
    out = tmp_path / 'report'
    text = run(
        'analysis_tools/report.py', tmp_path, '--images', 1, '--out', out
    )
    assert 'no predictions' not in text, text
    with Image.open(out / 'predictions.png') as grid:
        assert grid.width == 3 * (132 + 6)
    shutil.rmtree(copied_run / 'step_0/final.pth', ignore_errors=True)
    (copied_run / 'step_0/final.pth').write_bytes(b'damaged')
    text = run(
        'analysis_tools/report.py', tmp_path, '--images', 1, '--out', out
    )
    assert 'no predictions' in text
    assert 'no predictions' in (out / 'report.html').read_text()
