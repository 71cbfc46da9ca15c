import numpy as np
import pytest
from mmseg.datasets import PascalVOCDataset

from mmseg_rbc.datasets.classes import (
    by_class,
    check_label_values,
    class_colors,
    class_names,
    make_palette,
    map_values,
    unknown_label_sentence,
    values_of,
)


def test_names_with_and_without_background():
    names, ids = class_names(['background', 'cat', 'dog'])
    assert names == ['background', 'cat', 'dog']
    assert ids == {0: 0, 1: 1, 2: 2}
    names, ids = class_names(['sky', 'sea'])
    assert names == ['not learned yet', 'sky', 'sea']
    assert ids == {0: 1, 1: 2}, 'value 0 is a class'


@pytest.mark.parametrize(
    'classes, sentence',
    [
        (None, 'metainfo.classes is missing'),
        ([], 'metainfo.classes is missing'),
        (['cat', 'dog', 'cat'], "class 'cat' stands more than once"),
        (['cat', 'background'], "class 'background' stands more than once"),
    ],
)
def test_bad_names(classes, sentence):
    with pytest.raises(ValueError, match=sentence):
        class_names(classes)


def test_colors():
    classes = ['background', 'cat', 'dog']
    red, green = (255, 0, 0), (0, 255, 0)
    assert class_colors([(9, 9, 9), red, green], classes) == [
        [9, 9, 9],
        [255, 0, 0],
        [0, 255, 0],
    ]
    # Colors of data without background: black is put before them.
    assert class_colors([red, green], classes)[0] == [0, 0, 0]
    assert class_colors(None, classes) == make_palette(3)
    with pytest.raises(ValueError, match='palette has 1 colors, but .* 3 cla'):
        class_colors([red], classes)


def test_palette_is_that_of_voc():
    assert make_palette(21) == PascalVOCDataset.METAINFO['palette']


def test_unknown_values_are_named():
    index = np.zeros((3, 256), bool)
    index[:, [0, 1, 255]] = True
    paths = ['a.png', 'b.png', 'c.png']
    check_label_values(index, [0, 1, 2, 255], paths)
    index[1, [7, 9]] = True
    index[2, 8] = True
    with pytest.raises(ValueError, match='mask b.png .* values 7, 9, expect'):
        check_label_values(index, [0, 1, 2, 255], paths)


def test_sentence_about_unknown_values():
    one = unknown_label_sentence('m.png', [17], [0, 1, 4, 255])
    assert one.startswith(
        'mask m.png holds the unknown label value 17, expected 0 to 4 or 255'
    )
    many = unknown_label_sentence('m.png', list(range(10, 17)), [0, 1])
    assert 'values 10, 11, 12, 13, 14 ..., expected 0 to 1' in many


@pytest.mark.parametrize('classes', ['abc', -1, [1, 'a']], ids=str)
def test_classes_that_are_no_names(classes):
    with pytest.raises(ValueError, match='^metainfo.classes is .* of names, '):
        class_names(classes)


NAMES = ['not learned yet', 'sky', 'tree', 'car']
PLACES = {0: 1, 1: 2, 2: 3}


def test_values_of_classes():
    """A class that is named has only its values; others keep their place."""
    assert map_values(NAMES, PLACES, {}, []) == PLACES
    found = map_values(NAMES, PLACES, {7: 'car', '8': 'car'}, [2, 11])
    assert found == {0: 1, 1: 2, 7: 3, 8: 3}
    found = map_values(NAMES, PLACES, {0: NAMES[0], 5: 'sky'}, [])
    assert found == {0: 0, 1: 2, 2: 3, 5: 1}
    assert values_of([0, 3, 1], {9: 3, 4: 3, 5: 1}) == [255, 4, 5]
    by_value = np.zeros((2, 256), bool)
    by_value[0, [7, 255]] = by_value[1, 8] = True
    found = by_class(by_value, {7: 3, 8: 3, 0: 1}, 4)
    assert found.tolist() == [[False] * 3 + [True]] * 2


@pytest.mark.parametrize(
    'label_map, ignored, sentence',
    [
        ({7: 'cra'}, [], "names the class 'cra' for value 7.*mean 'car'"),
        ({300: 'car'}, [], 'label_map names the value 300, expected whole'),
        ({}, [255], 'ignore_values names the value 255, expected whole'),
        ({}, [1], "value 1 is in ignore_values, but it is class 'tree' too"),
        ({1: 'car'}, [], "no value of the masks is class 'tree'"),
    ],
)
def test_values_that_do_not_fit(label_map, ignored, sentence):
    with pytest.raises(ValueError, match=sentence):
        map_values(NAMES, PLACES, label_map, ignored)
