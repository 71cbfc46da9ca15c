"""new_config.py looks at the data, and its config trains."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import REPO, run_tool
from mmengine.config import Config
from PIL import Image

from mmseg_rbc.apis import load_network, predict
from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.config_parts import load_config

VALUES = dict(sky=0, tree=3, road=7, van=8, car=9, void=11)
COLORS = np.random.default_rng(1).integers(0, 256, (256, 3), np.uint8)


def write(folder: Path, number: int, in_color: bool = False) -> None:
    """Write scenes whose classes have colors of their own."""
    for name in ('images', 'masks'):
        (folder / name).mkdir(parents=True)
    for i in range(number):
        mask = np.full((64, 96), VALUES['sky'], np.uint8)
        mask[20:], mask[44:] = VALUES['tree'], VALUES['road']
        mask[30:60, 40:90] = VALUES['car' if i % 2 else 'van']
        mask[:2] = VALUES['void']
        image = Image.fromarray(COLORS[mask])
        image.save(folder / f'images/{i}.jpg', quality=95)
        if in_color:
            image.save(folder / f'masks/{i}_label.png')
        else:
            Image.fromarray(mask).save(folder / f'masks/{i}_label.png')


def arguments(root: Path, *args: object) -> list[str]:
    """Return the command line for training data."""
    images, masks = root / 'train/images', root / 'train/masks'
    given = (root / 'own.py', '--images', images, '--masks', masks)
    return [*map(str, (*given, '--model', 'fcn_tiny', *args))]


@pytest.fixture
def tool(monkeypatch):
    """Return the module: a process for each mistake would take seconds."""
    monkeypatch.syspath_prepend(str(REPO / 'tools'))
    import new_config

    yield new_config
    sys.modules.pop('new_config')


CLASSES = ('--classes', 'sky', 'tree', 'road', 'car=8,9', '--void', 11)
STEPS = ('--steps', 'sky,tree', 'road,car')


def test_two_steps(tmp_path):
    """The README's way: folders, names, steps; then train and predict."""
    write(tmp_path / 'train', 16)
    write(tmp_path / 'val', 4)
    val = ('--val-images', tmp_path / 'val/images')
    val += ('--val-masks', tmp_path / 'val/masks')
    before = {p: p.read_bytes() for p in tmp_path.rglob('*.png')}
    text = run_tool(
        'new_config.py', *arguments(tmp_path, *CLASSES, *STEPS, *val)
    )
    assert 'own.py --check' in text
    cfg = Config.fromfile(tmp_path / 'own.py')
    continual = cfg.continual
    assert continual.img_suffix == '.jpg'
    assert continual.seg_map_suffix == '_label.png'
    assert continual.label_map == {
        0: 'sky',
        3: 'tree',
        7: 'road',
        8: 'car',
        9: 'car',
    }
    assert continual.ignore_values == [11]
    assert cfg.crop_size == (64, 64)
    options = {
        'schedule.base': dict(lr=0.1, epochs=None, iters=20, batch_size=8),
        'schedule.later': dict(lr=0.005, epochs=None, iters=4, batch_size=8),
        'train_dataloader.num_workers': 0,
        'train_dataloader.persistent_workers': False,
        'val_dataloader.num_workers': 0,
        'val_dataloader.persistent_workers': False,
    }
    cfg = load_config(str(tmp_path / 'own.py'), options)
    results = run_sequence(cfg, str(tmp_path / 'run'), options=options)
    old = [step['metrics']['mIoU_old'] for step in results]
    assert old[0] > 50 and old[1] > 50
    metrics = json.loads((tmp_path / 'run/step_1/metrics.json').read_text())
    assert metrics['IoU']['not learned yet'] is None
    two = [metrics['IoU'][name] for name in ('sky', 'tree')]
    assert metrics['mIoU']['old'] == pytest.approx(sum(two) / 2)
    assert metrics['mIoU'] == metrics['mIoU_without_background']
    assert before == {p: p.read_bytes() for p in before}, 'masks stay'
    check_predictions(tmp_path)


def check_predictions(root: Path) -> None:
    """They have the values of the masks, or the positions in the network."""
    checkpoint, image = (
        root / 'run/step_1/final.pth',
        root / 'val/images/1.jpg',
    )
    out = root / 'out'
    command = ['predict.py', checkpoint, image, '--out']
    run_tool(*command, out)
    run_tool(*command, root / 'order', '--network-order')
    with Image.open(out / 'pred/1.png') as mask:
        found = np.array(mask)
    names = json.loads((out / 'classes.json').read_text())
    assert names == {
        '255': 'not learned yet',
        '0': 'sky',
        '3': 'tree',
        '7': 'road',
        '8': 'car',
    }
    values = np.array([255, 0, 3, 7, 8], np.uint8)
    labels = predict(load_network(str(checkpoint)), str(image))
    np.testing.assert_array_equal(values[labels], found)
    with Image.open(root / 'order/pred/1.png') as mask:
        np.testing.assert_array_equal(np.array(mask), labels)
    names = json.loads((root / 'order/classes.json').read_text())
    assert names['1'] == 'sky' and names['4'] == 'car' and len(names) == 5
    assert {0, 3} <= {*np.unique(found).tolist()}


def test_colors_and_held_out_images(tool, tmp_path, monkeypatch):
    write(tmp_path / 'train', 12, in_color=True)
    names = {k: '#' + bytes(COLORS[v]).hex() for k, v in VALUES.items()}
    classes = [f'{name}={names[name]}' for name in ('sky', 'tree', 'road')]
    classes.append(f'car={names["van"]},{names["car"]}')
    void = ('--void', names['void'])
    line = arguments(tmp_path, '--classes', *classes, *void, *STEPS)
    monkeypatch.setattr(sys, 'argv', ['new_config.py', *line])
    tool.main()
    cfg = Config.fromfile(tmp_path / 'own.py')
    labels = ['sky', 'tree', 'road', 'car', 'car']
    assert cfg.continual.label_map == dict(enumerate(labels, 1))
    assert cfg.continual.ignore_values == [0]
    assert len((tmp_path / 'own_train.txt').read_text().split()) == 11
    val = (tmp_path / 'own_val.txt').read_text().split()
    assert len(val) == 1
    assert cfg.schedule.later.batch_size == 10, 'of two views each'
    found = run_sequence(cfg, str(tmp_path / 'run'), check_only=True)
    assert found == [], 'the config can be trained'


def test_options_that_do_not_fit(tool, tmp_path, monkeypatch, capsys):
    steps = ('--steps', 'sky,tre', 'road')
    line = arguments(tmp_path, '--classes', 'sky', 'tree', 'road', *steps)
    monkeypatch.setattr(sys, 'argv', ['new_config.py', *line])
    with pytest.raises(SystemExit, match="--steps has 'tre', which is none"):
        tool.main()
    monkeypatch.setattr(sys, 'argv', [*sys.argv, '--val-images', 'val'])
    with pytest.raises(SystemExit):
        tool.main()
    assert '--val-images and --val-masks need' in capsys.readouterr().err


@pytest.mark.parametrize(
    'specs, void, sentence',
    [
        (
            ['sky', 'tree'],
            [],
            r'label values 0, 3, 7, 8, 9, 11 besides .* 2 of --classes \(sky',
        ),
        (['sky=0,3', 'tree=3'], [], '^3 is named more than once in --classes'),
        (['sky=0', 'tree=3'], ['3'], '^3 is named more than once'),
        (['sky=300'], [], "'300' is no label value from 0 to 254"),
        (['sky=#12'], [], "'#12' is no color such as #804080"),
        (['sky=#000000'], [], 'pixels of kind L|holds the color'),
    ],
)
def test_names_that_do_not_fit(tool, tmp_path, specs, void, sentence):
    write(tmp_path, 2)
    masks = sorted(map(str, (tmp_path / 'masks').glob('*.png')))
    with pytest.raises(ValueError, match=sentence):
        tool.map_labels(tool.parse_classes(specs), void, masks)
