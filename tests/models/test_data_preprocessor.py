import copy

import numpy as np
import pytest
import torch
from mmengine.dataset import pseudo_collate
from mmseg.registry import MODELS, TRANSFORMS

NORMALIZE = dict(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375])


def batch(count: int, sizes=((6, 8),), erase: bool = True) -> list[dict]:
    rng = np.random.default_rng(0)
    pack = TRANSFORMS.build(dict(type='PackDupletInputs'))
    items = []
    for i in range(count):
        size = sizes[i % len(sizes)]
        results = dict(
            img=rng.integers(0, 256, (*size, 3)).astype(np.uint8),
            gt_seg_map=rng.integers(0, 6, size).astype(np.uint8),
            num_old=3 if erase else 0,
            img_path=f'{i}.jpg',
        )
        erase_new = TRANSFORMS.build(dict(type='NewClassErase'))
        items.append(pack(erase_new(results)))
    return items


def build(**kwargs):
    return MODELS.build(dict(type='DupletDataPreProcessor', **kwargs))


def reference(items: list[dict], training: bool = True, **kwargs) -> dict:
    """The stock preprocessor on the views, listed by hand."""
    items = copy.deepcopy(items)
    flat = [
        dict(inputs=item['inputs'][v], data_samples=item['data_samples'][v])
        for v in range(2)
        for item in items
    ]
    for item in flat:
        label = item['data_samples'].gt_sem_seg
        label.data = label.data.to(torch.int64)
    stock = MODELS.build(dict(type='SegDataPreProcessor', **kwargs))
    return stock(pseudo_collate(flat), training)


@pytest.mark.parametrize(
    'kwargs, sizes',
    [
        (dict(size=(6, 8), bgr_to_rgb=True, **NORMALIZE), [(6, 8)]),
        (dict(size=(6, 8)), [(6, 8)]),
        (dict(size=(5, 5), **NORMALIZE), [(6, 8)]),
        (dict(size_divisor=2, rgb_to_bgr=True, **NORMALIZE), [(6, 8)]),
        (dict(size=(9, 9), **NORMALIZE), [(6, 8)]),
        (dict(size_divisor=4, **NORMALIZE), [(6, 8)]),
        (dict(size=(9, 9), **NORMALIZE), [(6, 8), (8, 6)]),
    ],
)
def test_equals_the_stock_preprocessor_bit_by_bit(kwargs, sizes):
    items = batch(3, sizes)
    expected = reference(items, **kwargs)
    found = build(**kwargs)(pseudo_collate(items), True)
    assert torch.equal(found['inputs'], expected['inputs'])
    assert len(found['data_samples']) == 6
    for a, b in zip(found['data_samples'], expected['data_samples']):
        assert torch.equal(a.gt_sem_seg.data, b.gt_sem_seg.data)
        assert a.gt_sem_seg.data.dtype == torch.int64
        assert a.img_path == b.img_path
        for key in ('img_shape', 'pad_shape', 'padding_size'):
            assert tuple(a.metainfo[key]) == tuple(b.metainfo[key])


def test_views_are_separated_by_chunk():
    items = batch(3)
    out = build(size=(6, 8))(pseudo_collate(items), True)
    full, erased = out['inputs'].chunk(2)
    for i, item in enumerate(items):
        assert torch.equal(full[i], item['inputs'][0].float())
        assert torch.equal(erased[i], item['inputs'][1].float())


def test_single_images_are_left_to_mmseg():
    items = batch(2, erase=False)
    kwargs = dict(size=(6, 8), bgr_to_rgb=True, **NORMALIZE)
    stock = MODELS.build(dict(type='SegDataPreProcessor', **kwargs))
    for training in (True, False):
        expected = stock(pseudo_collate(copy.deepcopy(items)), training)
        found = build(**kwargs)(pseudo_collate(copy.deepcopy(items)), training)
        assert torch.equal(found['inputs'], expected['inputs'])
        assert found['inputs'].shape == (2, 3, 6, 8)


def test_duplets_outside_training():
    items = batch(2)
    found = build(**NORMALIZE)(pseudo_collate(items), False)
    assert found['inputs'].shape == (4, 3, 6, 8)
