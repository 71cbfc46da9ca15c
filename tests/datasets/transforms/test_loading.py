import io

import numpy as np
import pytest
from mmseg.registry import TRANSFORMS
from PIL import Image

from mmseg_rbc.datasets.transforms.loading import UNKNOWN, label_table

LABEL_MAP = {0: 0, 1: 3, 2: 0, 255: 255}


@pytest.fixture
def load(tmp_path):
    def run(mask, shape=None, **kwargs):
        path = tmp_path / 'm.png'
        if isinstance(mask, bytes):
            path.write_bytes(mask)
        else:
            picture = Image.fromarray(np.asarray(mask))
            picture.save(path)
        results = dict(
            seg_map_path=str(path),
            img_path='m.jpg',
            label_map=LABEL_MAP,
            reduce_zero_label=False,
            seg_fields=[],
        )
        if shape:
            results['ori_shape'] = shape
        cfg = dict(type='LoadContinualAnnotations', **kwargs)
        return TRANSFORMS.build(cfg)(results)

    return run


def test_values_are_mapped(load):
    results = load(np.array([[0, 1], [2, 255]], np.uint8), (2, 2))
    assert results['gt_seg_map'].tolist() == [[0, 3], [0, 255]]
    assert results['gt_seg_map'].dtype == np.uint8
    assert results['seg_fields'] == ['gt_seg_map']


def test_raw_values_are_kept_on_demand(load):
    results = load(np.array([[0, 1], [2, 255]], np.uint8), keep_raw=True)
    assert results['gt_raw_map'].tolist() == [[0, 1], [2, 255]]
    assert results['seg_fields'] == ['gt_seg_map', 'gt_raw_map']


def test_table_equals_the_map_for_all_values():
    table = label_table(LABEL_MAP)
    expected = [LABEL_MAP.get(v, UNKNOWN) for v in range(256)]
    assert table.tolist() == expected


@pytest.mark.parametrize(
    'mask, sentence',
    [
        (
            np.array([[0, 9], [7, 0]], np.uint8),
            r'm\.png holds the unknown label values 7, 9, expected 0 to 2',
        ),
        (np.zeros((2, 2, 3), np.uint8), r'm\.png has pixels of kind RGB'),
        (np.zeros((2, 2), np.uint16), r'm\.png has pixels of kind I;16'),
        (
            np.zeros((2, 3), np.uint8),
            r'm\.png has 2 x 3 pixels, but its image m\.jpg has 2 x 2',
        ),
        (b'no picture', r'm\.png cannot be decoded'),
    ],
)
def test_bad_masks(load, mask, sentence):
    with pytest.raises(ValueError, match=sentence):
        load(mask, (2, 2))


def test_mask_damaged_in_the_middle(load):
    """One byte: the sum of its block is wrong."""
    noise = np.random.default_rng(0).integers(2, size=(64, 64))
    file = io.BytesIO()
    Image.fromarray(noise.astype(np.uint8)).save(file, 'PNG')
    content = bytearray(file.getvalue())
    assert load(bytes(content))['gt_seg_map'].max() == 3
    content[len(content) // 2] ^= 255
    with pytest.raises(ValueError, match=r'm\.png cannot be decoded \('):
        load(bytes(content))
