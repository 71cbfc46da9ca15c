import numpy as np
import pytest
import torch
from mmseg.registry import TRANSFORMS


def results() -> dict:
    rng = np.random.default_rng(0)
    return dict(
        img=rng.integers(0, 256, (4, 5, 3)).astype(np.uint8),
        gt_seg_map=rng.integers(0, 6, (4, 5)).astype(np.uint8),
        num_old=3,
        img_path='a.jpg',
        ori_shape=(4, 5),
        img_shape=(4, 5),
    )


def test_single_image_is_packed_as_in_mmseg():
    ours = TRANSFORMS.build(dict(type='PackDupletInputs'))(results())
    stock = TRANSFORMS.build(dict(type='PackSegInputs'))(results())
    assert torch.equal(ours['inputs'], stock['inputs'])
    a, b = ours['data_samples'], stock['data_samples']
    assert torch.equal(a.gt_sem_seg.data, b.gt_sem_seg.data)
    assert a.metainfo == b.metainfo


def test_duplet_holds_both_views():
    data = results()
    image, labels = data['img'].copy(), data['gt_seg_map'].copy()
    erased = TRANSFORMS.build(dict(type='NewClassErase'))(data)
    packed = TRANSFORMS.build(dict(type='PackDupletInputs'))(erased)
    full, second = packed['inputs']
    np.testing.assert_array_equal(full, image.transpose(2, 0, 1))
    expected = image * (labels < 3)[..., None]
    np.testing.assert_array_equal(second, expected.transpose(2, 0, 1))
    assert full.is_contiguous() and second.is_contiguous()
    a, b = packed['data_samples']
    np.testing.assert_array_equal(a.gt_sem_seg.data[0], labels)
    np.testing.assert_array_equal(
        b.gt_sem_seg.data[0], np.where(labels < 3, labels, 255)
    )
    assert a.img_path == b.img_path == 'a.jpg'
    assert a.metainfo.get('view') is None and b.view == 'erased'


def test_transform_after_erasing_is_refused():
    data = TRANSFORMS.build(dict(type='NewClassErase'))(results())
    data['seg_fields'] = ['gt_seg_map']
    flip = TRANSFORMS.build(dict(type='RandomFlip', prob=1.0))
    pack = TRANSFORMS.build(dict(type='PackDupletInputs'))
    with pytest.raises(ValueError, match='put NewClassErase last'):
        pack(flip(data))
