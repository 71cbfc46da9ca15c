"""predict.py, context_bias.py, report.py, print_summary.py on runs."""

import json
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import make_tiny_config
from helpers import REPO, run_tool, write_run
from PIL import Image

from mmseg_rbc.apis import load_network, predict
from mmseg_rbc.engine import run_sequence
from mmseg_rbc.runs import WorkDir


@pytest.fixture
def copied_run(tiny_run, tmp_path) -> WorkDir:
    shutil.copytree(tiny_run, tmp_path / 'plop')
    return WorkDir(str(tmp_path / 'plop'))


def read(path: str) -> dict:
    return json.loads(Path(path).read_text())


def test_predict(tiny_run, tiny_root, tmp_path):
    images = tmp_path / 'images'
    images.mkdir()
    for path in sorted((Path(tiny_root) / 'JPEGImages').iterdir())[:2]:
        shutil.copy(path, images)
    (images / 'notes.txt').write_text('no image')
    checkpoint = WorkDir(str(tiny_run)).step(0).final
    out = tmp_path / 'out'
    text = run_tool('predict.py', checkpoint, images, '--out', out)
    assert '2/2' in text and f'results: {out}' in text
    classes = json.loads((out / 'classes.json').read_text())
    assert len(classes) == 16 and classes['0'] == 'background'
    model = load_network(checkpoint)
    for path in images.glob('*.jpg'):
        with Image.open(out / f'pred/{path.stem}.png') as mask:
            assert mask.mode == 'P'
            assert (np.array(mask) == predict(model, str(path))).all()
            colors = np.array(mask.getpalette()).reshape(-1, 3)[:16]
        assert (colors == model.dataset_meta['palette']).all()
        with Image.open(out / f'vis/{path.stem}.png') as overlay:
            assert overlay.width == 2 * 64 + 6
    # The same name with another suffix, lying on its side by its EXIF tag.
    exif = Image.Exif()
    exif[274] = 6
    twin = images / f'{path.stem}.webp'
    with Image.open(path) as image:
        image.save(twin, exif=exif)
    (images / 'broken.jpg').write_bytes(b'no picture')
    text = run_tool('predict.py', checkpoint, images, '--out', out, expected=1)
    assert '1 of 4 images could not be read' in text
    with Image.open(out / f'pred/{twin.name}.png') as mask:
        assert mask.size == (48, 64), 'upright'
    with Image.open(out / f'pred/{path.name}.png') as mask:
        assert mask.size == (64, 48)
    text = run_tool('predict.py', 'none.pth', images, expected=1)
    assert 'none.pth does not exist' in text and 'Traceback' not in text
    damaged = tmp_path / 'damaged.pth'
    damaged.write_bytes(b'no checkpoint')
    text = run_tool('predict.py', damaged, images, expected=1)
    assert f'{damaged} cannot be used' in text and 'Traceback' not in text
    text = run_tool('predict.py', checkpoint, tmp_path / 'none', expected=1)
    assert 'neither an image nor a folder' in text


def test_context_bias_and_report(copied_run, tmp_path):
    step = copied_run.step(1)
    text = run_tool('analysis_tools/context_bias.py', step.final)
    assert 'flipped' in text and f'results: {step.context_bias}' in text
    result = read(step.context_bias)
    assert 0 < result['num_images'] <= 6 and len(result['erased']) == 5
    assert 0 <= result['mean']['flipped'] <= 100
    table = read(step.co_occurrence)
    shares = np.array([table['base'], table['later']], float)
    assert shares.shape == (2, len(table['old']), len(table['new']))
    assert len(table['old']) == 15 and result['erased'] == table['new']
    assert np.nanmin(shares) >= 0 and 0 < np.nanmax(shares) <= 100
    base = copied_run.step(0).final
    text = run_tool('analysis_tools/context_bias.py', base, expected=1)
    assert 'is of step 0' in text and 'Traceback' not in text
    out = tmp_path / 'report'
    work_dir = copied_run.path
    run_tool('analysis_tools/report.py', work_dir, '--images', 2, '--out', out)
    page = (out / 'report.html').read_text()
    assert 'Context bias' in page and 'Predictions' in page
    assert page.count('data:image/png;base64,') == 2
    with Image.open(out / 'predictions.png') as grid:
        # Image, truth, two steps.
        assert grid.width == 4 * (132 + 6)


def test_report_of_many_runs(tmp_path):
    for method in ('ft', 'plop', 'rbc'):
        write_run(tmp_path / method)
    text = run_tool('analysis_tools/report.py', tmp_path)
    path = tmp_path / 'report/report.html'
    assert f'report: {path}' in text
    assert '3 runs of task 2-1 overlapped' in path.read_text()
    text = run_tool('analysis_tools/report.py', 'nowhere', expected=1)
    assert 'nowhere is no folder' in text and 'Traceback' not in text


def test_joint_beside_an_unfinished_run(copied_run, tiny_root, tmp_path):
    """Joint knows classes that the other run has not learned yet."""
    cfg, options = make_tiny_config(
        tiny_root, 'joint', **{'schedule.base.epochs': 1}
    )
    run_sequence(cfg, str(tmp_path / 'joint'), options=options)
    Path(copied_run.step(1).finished).unlink()
    out = tmp_path / 'report'
    text = run_tool(
        'analysis_tools/report.py', tmp_path, '--images', 1, '--out', out
    )
    assert 'no predictions' not in text, text
    with Image.open(out / 'predictions.png') as grid:
        assert grid.width == 3 * (132 + 6)
    Path(copied_run.step(0).final).write_bytes(b'damaged')
    text = run_tool(
        'analysis_tools/report.py', tmp_path, '--images', 1, '--out', out
    )
    assert 'no predictions' in text
    assert 'no predictions' in (out / 'report.html').read_text()


def test_print_summary(tmp_path):
    folder = WorkDir(str(tmp_path))
    tool = 'analysis_tools/print_summary.py'
    text = run_tool(tool, tmp_path, expected=1)
    assert f'{folder.summary} does not exist' in text
    metrics = dict(mIoU_old=12.25, mIoU_all=12.25)
    folder.write_summary('a task', 2, [dict(step=0, metrics=metrics)])
    text = run_tool(tool, tmp_path, tmp_path)
    assert text.count(folder.summary) == 2 and text.count('12.25') == 4
    Path(folder.summary).write_text('{"steps": [')
    text = run_tool(tool, tmp_path, expected=1)
    assert 'cannot be read' in text and 'Traceback' not in text


@pytest.mark.parametrize(
    'text', ['[]', '3', 'null', '{}', '{"steps": 3}', '[' * 100000]
)
def test_print_summary_of_another_kind(tmp_path, monkeypatch, text):
    (tmp_path / 'summary.json').write_text(text)
    tool = str(REPO / 'tools/analysis_tools/print_summary.py')
    monkeypatch.setattr(sys, 'argv', [tool, str(tmp_path)])
    with pytest.raises(SystemExit, match='summary.json cannot be read'):
        runpy.run_path(tool, run_name='__main__')
