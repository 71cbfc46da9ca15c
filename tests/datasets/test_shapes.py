from pathlib import Path

import numpy as np
from helpers import CONFIGS
from mmengine.config import Config
from PIL import Image

from mmseg_rbc.datasets.class_index import load_class_index
from mmseg_rbc.datasets.shapes import CLASSES, draw_scene, make_shapes


def masks(root) -> list[str]:
    return sorted(map(str, Path(root).glob('SegmentationClassAug/*.png')))


def test_same_seed_same_pixels(tmp_path):
    for name, seed in (('a', 1), ('b', 1), ('c', 2)):
        make_shapes(str(tmp_path / name), 3, 1, (40, 50), seed)
    a, b, c = (
        [np.array(Image.open(p)) for p in masks(tmp_path / n)] for n in 'abc'
    )
    assert len(a) == 4
    assert all(np.array_equal(x, y) for x, y in zip(a, b))
    assert not all(np.array_equal(x, y) for x, y in zip(a, c))
    image = Image.open(tmp_path / 'a/JPEGImages/shapes_000000.jpg')
    assert image.size == (50, 40)


def test_classes_void_and_context(shapes_root):
    index = load_class_index(masks(shapes_root))
    assert index[:, 255].all(), 'every object has a void border'
    assert not index[:, 21:255].any()
    foreground = index[:, 1:21]
    assert foreground.any(0).all(), 'all 20 classes occur'
    assert foreground.sum(1).mean() > 1.5, 'several classes an image'
    # Partners (1, 11) ... (10, 20) are far more often together than others.
    together = foreground.T.astype(float) @ foreground
    partners = np.mean([together[c, (c + 10) % 20] for c in range(20)])
    others = (together.sum() - np.trace(together)) / 20 - partners
    assert partners > 3 * others / 18


def test_void_lies_around_objects():
    _, labels = draw_scene(np.random.default_rng(0), 0, (60, 60))
    ys, xs = np.nonzero((labels > 0) & (labels < 255))
    inner = (ys > 0) & (ys < 59) & (xs > 0) & (xs < 59)
    for y, x in zip(ys[inner], xs[inner]):
        patch = labels[y - 1 : y + 2, x - 1 : x + 2]
        assert not ((patch == 0).any()), 'no object touches background'


def test_config_names_the_classes_of_the_generator():
    path = CONFIGS / '_base_/datasets/continual_shapes.py'
    cfg = Config.fromfile(path)
    assert cfg.continual.metainfo.classes == list(CLASSES)
