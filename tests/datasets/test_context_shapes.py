import numpy as np
import pytest
from helpers import CONFIGS
from mmengine.config import Config
from PIL import Image

from mmseg_rbc.datasets.class_index import load_class_index
from mmseg_rbc.datasets.context_shapes import (
    CLASSES,
    MARKERS,
    NEW,
    TWINS,
    draw_objects,
    make_context_shapes,
    twin,
)

NUM_TRAIN, NUM_VAL = 120, 40
FIRST_NEW = len(CLASSES) - len(NEW)


@pytest.fixture(scope='module', params=[True, False], ids=['biased', 'even'])
def data(request, tmp_path_factory):
    """Whether there is bias, and which classes each image shows."""
    root = tmp_path_factory.mktemp('context')
    make_context_shapes(str(root), NUM_TRAIN, NUM_VAL, request.param)
    masks = sorted(map(str, root.glob('SegmentationClassAug/*.png')))
    return request.param, load_class_index(masks)[:, : len(CLASSES)]


def test_a_twin_has_its_marker(data):
    _, index = data
    for marker in range(len(MARKERS)):
        twins = [twin(form, marker) for form in range(len(TWINS))]
        shown = index[:, twins].any(1)
        assert shown.any() and index[shown, 1 + marker].all()
        assert not index[shown, 2 - marker].any(), 'and never the other one'


def test_only_bias_makes_a_new_class_tell_the_marker(data):
    bias, index = data
    train = index[:NUM_TRAIN]
    for new in range(len(NEW)):
        beside = train[train[:, FIRST_NEW + new], 1 : 1 + len(MARKERS)]
        assert beside.any(0).sum() == (1 if bias else 2)


def test_old_and_new_are_apart_in_validation_only(data):
    _, index = data
    old = index[:, 1:FIRST_NEW].any(1)
    new = index[:, FIRST_NEW:].any(1)
    assert not (old & new)[NUM_TRAIN:].any()
    assert old[:NUM_TRAIN].all() and (old & new)[:NUM_TRAIN].any()
    assert index[NUM_TRAIN:, 1:].any(0).all(), 'all classes are evaluated'
    assert index[:NUM_TRAIN, 1:].any(0).all(), 'and trained'


def test_twins_look_the_same():
    images = []
    for marker in range(len(MARKERS)):
        rng = np.random.default_rng(0)
        objects = [(twin(2, marker), (0.3, 0.45))]
        images.append(draw_objects(rng, objects)[0])
    np.testing.assert_array_equal(*images)


def test_same_seed_same_pixels(tmp_path):
    for name, seed in (('a', 1), ('b', 1), ('c', 2)):
        make_context_shapes(str(tmp_path / name), 2, 1, True, seed)
    path = 'JPEGImages/shapes_000002.jpg'
    a, b, c = (np.array(Image.open(tmp_path / n / path)) for n in 'abc')
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_config_names_the_classes_of_the_generator():
    cfg = Config.fromfile(CONFIGS / '_base_/datasets/continual_context.py')
    assert cfg.continual.metainfo.classes == list(CLASSES)
