"""The command line that adds classes."""

import csv
import json

import numpy as np
import pytest
from helpers import assert_equal_weights, run_tool, weights
from PIL import Image
from stock_networks import (
    CLASSES,
    blocks,
    stock_config,
    write_images,
    write_new,
    write_stock,
)


def test_dry_run_and_bad_input(tmp_path):
    stock = write_stock(tmp_path / 'stock')
    new = write_new(tmp_path / 'new')
    data = ('--images', new / 'images', '--masks', new / 'masks')
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'traffic light=1'),
        *('--unlabelled', 0, '--dry-run'),
        cwd=tmp_path,
    )
    for part in (
        'method rbc',
        'network: FCNHead on ResNetV1c, 3 classes (background: none): sky, ro',
        'new images: 7 to train on, 1 held out',
        'old classes are evaluated on: 4 images',
        'schedule: 30 epochs, learning rate 0.0125, batches of 8',
        'memory: ',
        "new class 'traffic light' (value 1): in 8 images, ",
        ' % of the pixels; for the network it is ',
    ):
        assert part in printed
    assert not (tmp_path / 'work_dirs').exists()
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'car'),
        expected=2,
    )
    assert 'expected NAME=VALUE with a value from 0 to 254' in printed
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'car=1', 'car=2'),
        expected=2,
    )
    assert '--classes has a name twice' in printed
    printed = run_tool(
        *('add_classes.py', *stock, *data, '--classes', 'car=9'),
        cwd=tmp_path,
        expected=1,
    )
    assert 'error: the masks in' in printed and 'Traceback' not in printed


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    """Folder of a car added by one process and by two, and what they said."""
    root = tmp_path_factory.mktemp('runs')
    stock, new = write_stock(root / 'stock'), write_new(root / 'new')
    # Images of all classes, the new one too.
    other = write_images(root / 'other', blocks(4, 3, seed=7))
    stock_config(other, (*CLASSES, 'car')).dump(root / 'other.py')
    command = ['add_classes.py', *stock, '--images', new / 'images']
    command += ['--masks', new / 'masks', '--classes', 'car=1']
    command += ['--epochs', 1, '--batch-size', 4, '--val-split', 0.25]
    command += ['--val-config', root / 'other.py', '--work-dir']
    run, final = root / 'one', root / 'one/step_1/final.pth'
    images = new / 'images'
    printed = run_tool(*command, run)
    printed += run_tool(*command, root / 'two', processes=2)
    run_tool('test.py', run / 'config.py', final)
    run_tool('predict.py', final, images, '--out', root / 'predictions')
    run_tool('analysis_tools/report.py', run, '--out', root / 'report')
    return root, printed


def test_two_processes_equal_one(runs):
    """Batches of 4 and of 2 + 2; 3 images of --val-config and 2 new ones."""
    root, printed = runs
    folders = root / 'one', root / 'two'
    for folder in folders:
        # Process 1 prints no table.
        assert printed.count(f'results: {folder}\n') == 1
    assert printed.count('old classes are evaluated on: 3 images') == 2
    exported = [weights(path / 'export/network.pth') for path in folders]
    # Weights move by up to 5e-3. Rounding, which is another on each machine,
    # may bring a pixel over a threshold of the pseudo-labels: 2e-5 was seen.
    assert_equal_weights(*exported, tolerance=1e-4)
    bias = weights(root / 'stock/stock.pth')['decode_head.conv_seg.bias']
    moved = exported[1]['decode_head.conv_seg.bias'][:3] - bias
    assert moved.abs().max() > 5e-4, 'it has trained'
    for step in (0, 1):
        paths = [path / f'step_{step}/metrics.json' for path in folders]
        found = [json.loads(path.read_text()) for path in paths]
        assert found[0]['IoU'] == pytest.approx(found[1]['IoU'], abs=0.1)
        assert found[0]['num_images'] == found[1]['num_images'] == 3 + 2


def test_result_is_a_run_like_any_other(runs):
    """It is evaluated, predicted with and reported as others are."""
    root, _ = runs
    step = root / 'one/step_1'
    metrics = json.loads((step / 'metrics.json').read_text())
    again = json.loads((step / 'test/metrics.json').read_text())
    assert again['IoU'] == metrics['IoU'] and again['num_images'] == 5
    names = json.loads((root / 'predictions/classes.json').read_text())
    assert list(names.values()) == [*CLASSES, 'car']
    masks = [*(root / 'predictions/pred').glob('*.png')]
    found = {v for path in masks for v in np.unique(Image.open(path))}
    assert len(masks) == 8 and found <= {0, 1, 2, 3} and len(found) > 1
    with (root / 'report/summary.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        # No class of this network is background.
        assert float(row['old']) == pytest.approx(metrics['mIoU']['old'], 1e-3)
