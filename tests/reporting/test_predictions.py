"""The grid of predictions."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import NAMES, write_run
from mmseg.registry import DATASETS
from PIL import Image

from mmseg_rbc.apis import load_network, predict
from mmseg_rbc.reporting.predictions import (
    CAPTION,
    CELL,
    choose_images,
    draw_grid,
    draw_predictions,
    networks,
)
from mmseg_rbc.runs import WorkDir
from mmseg_rbc.runs.run import find_runs, load_run
from mmseg_rbc.visualization import blend


def test_networks_of_finished_steps(tmp_path):
    folder = write_run(tmp_path)
    for step in (0, 2):
        Path(folder.step(step).final).touch()
    Path(folder.step(2).finished).unlink()
    found = networks(load_run(folder.path))
    assert found == {0: folder.step(0).final}


def test_grid():
    red = np.full((10, 20, 3), (255, 0, 0), np.uint8)
    tall = np.full((264, 132, 3), (0, 0, 255), np.uint8)
    rows = [('first', [red, None]), ('second', [red, tall])]
    grid = draw_grid(['a', 'b'], rows, dict(cat=(0, 255, 0)))
    pixels = np.array(grid)
    assert pixels.shape[1] == 2 * CELL
    # A line of names, then of each row: its name, the highest picture, a gap.
    tops = [16 + 16, 16 + (16 + 10 + 6) + 16]
    assert pixels.shape[0] == tops[1] + 132 + 6 + 16
    for top in tops:
        assert (pixels[top : top + 10, :20] == (255, 0, 0)).all()
    assert (pixels[tops[0] : tops[0] + 10, CELL:] == 255).all(), 'empty'
    thumbnail = pixels[tops[1] : tops[1] + 132, CELL : CELL + 66]
    assert (thumbnail == (0, 0, 255)).all(), 'half as large'
    assert (pixels[-16:] == (0, 255, 0)).all(-1).any(), 'the legend'


@pytest.fixture
def dataset(write_data):
    """Five images with one class each; the last one shows two."""
    shown = [(0,), (1,), (2,), (2,), (3, 2)]
    masks = {
        str(i): np.repeat(classes, 4)[None] for i, classes in enumerate(shown)
    }
    return DATASETS.build(
        dict(
            type='ContinualDataset',
            data_root=str(write_data(masks)),
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClassAug'
            ),
            ann_file='list.txt',
            metainfo=dict(classes=NAMES),
            task='offline',
            test_mode=True,
            eval_images='all',
            pipeline=[],
        )
    )


@pytest.mark.parametrize(
    'number, expected', [(1, [2]), (3, [2, 4, 1]), (4, [2, 4, 1, 0])]
)
def test_worst_forgotten_classes_come_first(
    dataset, tmp_path, number, expected
):
    folder = write_run(tmp_path / 'run')
    steps = [
        dict(background=90, cat=50, dog=50),
        dict(background=0, cat=50, dog=50, cow=50),
        dict(background=0, cat=49, dog=20, cow=30, bus=9),
    ]
    run = load_run(folder.path)
    for metrics, iou in zip(run.metrics, steps):
        metrics['IoU'] = iou
    # Lost: dog 30, cow 20, cat 1; background does not count.
    assert choose_images(dataset, [run], number) == expected


def test_more_images_than_there_are(dataset, tmp_path):
    run = load_run(write_run(tmp_path / 'run', sizes=[3]).path)
    assert choose_images(dataset, [run], 9) == [0, 1, 2, 3, 4]


@pytest.fixture
def colorful_run(tiny_run, tmp_path) -> Path:
    """A run whose networks predict several classes."""
    run = tmp_path / 'run'
    shutil.copytree(tiny_run, run)
    torch.manual_seed(0)
    for path in run.glob('step_*/final.pth'):
        content = torch.load(path, weights_only=True)
        content['state_dict']['decode_head.conv_seg.weight'].normal_()
        torch.save(content, path)
    return run


def test_predictions_are_those_of_the_networks(
    colorful_run, tiny_root, tmp_path
):
    found = draw_predictions(find_runs([str(colorful_run)]), 2, str(tmp_path))
    assert found == {CAPTION: str(tmp_path / 'predictions.png')}
    with Image.open(found[CAPTION]) as image:
        grid = np.array(image.convert('RGB')).astype(int)
    assert grid.shape[1] == 4 * CELL, 'image, truth, two steps'
    height, width, top = 48, 64, 16 + 16
    image = grid[top : top + height, :width]
    names = (Path(tiny_root) / 'ImageSets/Segmentation/val.txt').read_text()
    folder = Path(tiny_root) / 'JPEGImages'
    images = [
        np.array(Image.open(folder / f'{name}.jpg')) for name in names.split()
    ]
    # 256 colors are not all of them.
    (original,) = [x for x in images if abs(x - image).mean() < 5]
    for step in (0, 1):
        model = load_network(WorkDir(str(colorful_run)).step(step).final)
        labels = predict(model, np.ascontiguousarray(original[..., ::-1]))
        palette = np.array(model.dataset_meta['palette'])
        left = (2 + step) * CELL
        cell = grid[top : top + height, left : left + width]
        assert abs(cell - blend(original, labels, palette, 0.75)).mean() < 5
        assert len(np.unique(labels)) > 1, 'not all of it is background'


def test_no_network(tmp_path):
    write_run(tmp_path / 'run')
    runs = find_runs([str(tmp_path / 'run')])
    assert draw_predictions(runs, 2, str(tmp_path / 'out')) == {}
    assert not (tmp_path / 'out').exists()
