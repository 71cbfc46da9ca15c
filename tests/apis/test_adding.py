"""Classes are added to a stock network, twice, and stock MMSeg runs it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import CONFIGS, Stop, assert_equal_weights, weights
from mmengine.config import Config
from mmseg.apis import inference_model, init_model
from mmseg.registry import MODELS
from PIL import Image
from stock_networks import CLASSES, write_new, write_stock

from mmseg_rbc.apis import add_classes, load_network, predict
from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.step_config import RunConfig

QUICK = dict(epochs=1, batch_size=4, val_split=0.25)
STOCK_ONLY = """
import sys
from unittest.mock import MagicMock

import numpy as np

try:
    import mmcv.ops
except ModuleNotFoundError:
    # The official line cannot be imported without compiled operators.
    sys.modules['mmcv._ext'] = MagicMock()
    import mmcv.ops
    del sys.modules['mmcv._ext']
from mmseg.apis import MMSegInferencer, inference_model, init_model

config, checkpoint, out, *images = sys.argv[1:]
model = init_model(config, checkpoint, device='cpu')
labels = [inference_model(model, i).pred_sem_seg.data[0] for i in images]
infer = MMSegInferencer(config, checkpoint, device='cpu')
again = [infer(i, return_vis=False)['predictions'] for i in images]
assert all((a.numpy() == b).all() for a, b in zip(labels, again))
assert 'mmseg_rbc' not in sys.modules
np.savez(out, *labels, classes=model.dataset_meta['classes'])
"""


def add(stock, new: Path, work_dir: Path, name: str = 'car', **kwargs):
    """Add the class of value 1, quickly."""
    return add_classes(
        *stock,
        str(new / 'images'),
        str(new / 'masks'),
        {name: 1},
        work_dir=str(work_dir),
        **{**QUICK, **kwargs},
    )


def measured(result, step: int) -> dict:
    path = Path(result.work_dir) / f'step_{step}/metrics.json'
    return json.loads(path.read_text())


def pictures(root: Path) -> list[str]:
    return [str(path) for path in sorted((root / 'images').glob('*.png'))]


def stock_labels(config: str, checkpoint: str, images: list[str]):
    model = init_model(config, checkpoint, device='cpu')
    return [
        inference_model(model, image).pred_sem_seg.data[0].numpy()
        for image in images
    ]


@pytest.fixture(scope='module')
def added(tmp_path_factory):
    """A stock network without background that has got a car."""
    root = tmp_path_factory.mktemp('added')
    stock = write_stock(root / 'stock', auxiliary=True)
    new = write_new(root / 'new')
    return stock, new, add(stock, new, root / 'run')


def test_first_evaluation_is_that_of_stock_mmseg(added):
    """Adopted, and grown before any training: the same predictions."""
    stock, new, result = added
    images = pictures(new)
    expected = stock_labels(*stock, images)
    assert len(np.unique(expected)) == 3
    run = RunConfig(Config.fromfile(f'{result.work_dir}/config.py'))
    steps = run.steps(result.work_dir)
    adopted = load_network(f'{result.work_dir}/step_0/final.pth')
    grown = MODELS.build(steps[1].model)
    grown.init_weights()
    assert grown.decode_head.conv_seg.out_channels == 4
    grown.cfg = steps[1]
    for image, labels in zip(images, expected):
        assert (predict(adopted, image) == labels).all()
        assert (predict(grown.eval(), image) == labels).all()


def test_export_runs_in_stock_mmseg(added, tmp_path):
    """No plugin is imported there; names, order and predictions agree."""
    _, new, result = added
    images, out = pictures(new), tmp_path / 'labels.npz'
    command = [sys.executable, '-c', STOCK_ONLY, result.config]
    done = subprocess.run(
        [*command, result.checkpoint, out, *images], cwd=tmp_path
    )
    assert done.returncode == 0
    model = load_network(f'{result.work_dir}/step_1/final.pth')
    with np.load(out) as found:
        assert found['classes'].tolist() == [*CLASSES, 'car']
        for i, image in enumerate(images):
            assert (predict(model, image) == found[f'arr_{i}']).all()


def test_results_say_what_was_measured(added):
    """Old classes on the stock images, the new one on held-out images."""
    _, _, result = added
    metrics = measured(result, 1)
    assert list(metrics['IoU']) == [*CLASSES, 'car']
    assert metrics['num_images'] == 4 + 2
    assert metrics['IoU']['car'] is not None
    first = measured(result, 0)
    assert first['mIoU']['all'] == first['mIoU']['old']
    assert 'new images: 6 to train on, 2 held out' in result.summary
    assert '3 classes (background: none): sky, road, tree' in result.summary


def test_stock_evaluation_has_the_iou_of_stock_mmseg(added):
    """IoU of step 0 by stock MMSeg's own counts."""
    stock, _, result = added
    root = Path(stock[0]).parent
    images = pictures(root)
    counts = np.zeros((3, 3))
    for image, labels in zip(images, stock_labels(*stock, images)):
        truth = np.array(Image.open(image.replace('images', 'masks')))
        index = 3 * truth.astype(int) + labels
        counts += np.bincount(index.ravel(), minlength=9).reshape(3, 3)
    hits = np.diagonal(counts)
    expected = 100 * hits / (counts.sum(0) + counts.sum(1) - hits)
    first = measured(result, 0)
    np.testing.assert_allclose(list(first['IoU'].values()), expected)


def test_twice_in_a_row(added, tmp_path):
    """The export is a stock network like any other."""
    _, new, first = added
    exported = first.config, first.checkpoint
    second = add(exported, new, tmp_path / 'run', 'bus', method='mib')
    state = weights(Path(second.checkpoint))
    assert len(state['decode_head.conv_seg.bias']) == 5
    assert len(state['auxiliary_head.conv_seg.bias']) == 5
    expected = stock_labels(*exported, pictures(new))
    adopted = load_network(f'{second.work_dir}/step_0/final.pth')
    for image, labels in zip(pictures(new), expected):
        assert (predict(adopted, image) == labels).all()
    assert second.results[1]['classes'] == [*CLASSES, 'car', 'bus']


def test_same_call_and_written_config_find_it_finished(added):
    stock, new, result = added
    before = weights(Path(result.checkpoint))
    again = add(stock, new, Path(result.work_dir))
    assert [r['metrics'] for r in again.results] == [
        r['metrics'] for r in result.results
    ]
    assert_equal_weights(weights(Path(again.checkpoint)), before)
    cfg = Config.fromfile(f'{result.work_dir}/config.py')
    results = run_sequence(cfg, cfg.work_dir, init_from=cfg.init_from)
    assert [r['seconds'] for r in results] == [
        r['seconds'] for r in result.results
    ]


def test_stopped_and_resumed(added, tmp_path):
    """It ends as the run that nobody stopped: 2 epochs of 3 iterations."""
    stock, new, _ = added
    whole = add(stock, new, tmp_path / 'whole', epochs=2)
    hooks = Config.fromfile(CONFIGS / '_base_/default_runtime.py').custom_hooks
    hooks = [*map(dict, hooks), dict(type='StopHook', iteration=5)]
    folder = tmp_path / 'stopped'
    with pytest.raises(Stop):
        add(stock, new, folder, epochs=2, options=dict(custom_hooks=hooks))
    assert (folder / 'step_1/epoch_1.pth').exists()
    assert not (folder / 'export').exists()
    resumed = add(stock, new, folder, epochs=2, resume=True)
    assert resumed.results[1]['resumed']
    states = [weights(Path(r.checkpoint)) for r in (whole, resumed)]
    assert_equal_weights(*states)


@pytest.mark.parametrize(
    'method, stock_kwargs',
    [
        ('ft', dict(reduce_zero_label=True)),
        ('plop', dict(classes=('background', 'road', 'tree'))),
    ],
)
def test_kinds_of_stock_networks(tmp_path, method, stock_kwargs):
    """With reduce_zero_label, and with a background class."""
    stock = write_stock(tmp_path / 'stock', **stock_kwargs)
    new = write_new(tmp_path / 'new')
    result = add(stock, new, tmp_path / 'run', method=method)
    cfg = Config.fromfile(tmp_path / 'run/step_1/config.py')
    assert cfg.model.background is (method == 'plop')
    iou = result.results[0]['metrics']
    assert len([key for key in iou if key.startswith('IoU.')]) == 3
    state = weights(Path(result.checkpoint))
    assert len(state['decode_head.conv_seg.bias']) == 4


def test_without_the_stock_images(tmp_path):
    """It says that the old classes were not measured, and goes on."""
    stock = write_stock(tmp_path / 'stock')
    (tmp_path / 'stock/images').rename(tmp_path / 'stock/gone')
    new = write_new(tmp_path / 'new')
    result = add(stock, new, tmp_path / 'run')
    assert 'evaluated on: not measured: ' in result.summary
    assert set(result.results[1]['metrics']) == {
        'mIoU',
        'mIoU_new',
        'mIoU_all',
        'IoU.car',
    }
    with pytest.raises(ValueError, match='nothing to evaluate on: .*--val-'):
        add(stock, new, tmp_path / 'other', val_split=0)


def test_dry_run_writes_nothing(tmp_path):
    stock = write_stock(tmp_path / 'stock')
    new = write_new(tmp_path / 'new', labels=2)
    kwargs = dict(work_dir=str(tmp_path / 'run'), dry_run=True)
    paths = (str(new / 'images'), str(new / 'masks'))
    result = add_classes(*stock, *paths, dict(car=1, bus=2), **kwargs)
    assert not (tmp_path / 'run').exists()
    for part in ('car', 'bus', 'learning rate 0.0125', 'MiB', 'FCNHead'):
        assert part in result.summary


@pytest.mark.parametrize(
    'change, sentence',
    [
        (dict(name='road'), "has class 'road' already: it knows sky, road"),
        (dict(method='ewc'), "method 'ewc' cannot add .*: choose one of ft"),
        (dict(method='rcb'), "'rcb' .*: did you mean 'rbc'"),
        (dict(unlabeled=(7,)), 'hold 0, expected 1, 7, 255: name each value'),
        (dict(val_split=1.0), 'of which 8 are held out: give more images'),
        # What the run would refuse, the dry run does.
        (dict(epochs=0), 'epochs is 0, expected a whole number of at least 1'),
        (dict(batch_size=7), 'a batch of 7 images cannot be filled with 2 vi'),
        (dict(options={'recipe.x': 1}), 'recipe.x is unknown'),
        (
            dict(options={'method.classifier_init': 'zero'}),
            "^model cannot be built: classifier_init='zero' is unknown",
        ),
    ],
)
def test_bad_input_gets_a_sentence(tmp_path, change, sentence):
    stock = write_stock(tmp_path / 'stock')
    new = write_new(tmp_path / 'new')
    with pytest.raises(ValueError, match=sentence):
        add(stock, new, tmp_path / 'run', dry_run=True, **change)


def test_new_rows_are_what_the_network_takes_the_class_for(added):
    """Weights of the pinned config, by hand."""
    stock, new, result = added
    cfg = Config.fromfile(f'{result.work_dir}/config.py')
    (row,) = cfg.method.row_weights
    names = Path(f'{result.work_dir}/new.txt').read_text().split()
    images = [str(new / f'images/{name}.png') for name in names]
    counts = np.zeros(3)
    for image, labels in zip(images, stock_labels(*stock, images)):
        mask = np.array(Image.open(image.replace('images', 'masks')))
        counts += np.bincount(labels[mask == 1], minlength=3)
    np.testing.assert_allclose(row, counts / counts.sum(), atol=1e-6)
    assert torch.tensor(row).sum() == pytest.approx(1, abs=1e-5)
