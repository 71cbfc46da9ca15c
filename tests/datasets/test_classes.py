import numpy as np
import pytest
from mmseg.datasets import PascalVOCDataset

from mmseg_rbc.datasets.classes import (
    check_label_values,
    class_colors,
    class_names,
    make_palette,
    unknown_label_sentence,
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
