import numpy as np
import pytest
from mmseg.registry import DATASETS


def build(root, **kwargs):
    config = dict(
        type='ContinualDataset',
        data_root=str(root),
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        metainfo=dict(classes=['sky', 'tree', 'road']),
        task=[['sky', 'tree'], ['road']],
        pipeline=[],
    )
    return DATASETS.build(dict(config, **kwargs))


@pytest.fixture
def root(write_data):
    return write_data({'a': [[0, 1]], 'b': [[2, 0]], 'c': [[1, 1]]})


def test_folders_class_names_and_steps_are_enough(root):
    """Value 0 is a class: the data has no background."""
    data = build(root, ann_file='list.txt', step=1)
    assert len(data) == 1
    assert data.metainfo['classes'] == (
        'not learned yet',
        'sky',
        'tree',
        'road',
    )
    assert data.get_label_map() == {0: 0, 1: 0, 2: 3, 255: 255}
    assert len(build(root)) == 3, 'without a list: the whole folder'


@pytest.mark.parametrize(
    'text, sentence',
    [
        (
            b'\xef\xbb\xbfa\nb\n',
            'list.txt begins with a byte-order mark: save',
        ),
        ('a\nb\n'.encode('utf-16'), 'begins with a byte-order mark: save it'),
        (b'a\nb\xff\n', 'list.txt is no text in UTF-8 .*: save it as one'),
        (b'a\nb\na\n', "list.txt names 'a' more than once, and 0 more images"),
        (b'a\nb\r\na\nb', "names 'a' more than once, and 1 more images: keep"),
        (b'', 'list.txt names no image'),
    ],
)
def test_list_that_cannot_be_used(root, text, sentence):
    (root / 'list.txt').write_bytes(text)
    with pytest.raises(ValueError, match=sentence):
        build(root, ann_file='list.txt')


def test_split_with_repeated_positions(root):
    np.save(root / 'train-0.npy', [0, 2, 2])
    with pytest.raises(ValueError, match='train-0.npy names position 2 more'):
        build(root, ann_file='list.txt', split_dir=str(root))
