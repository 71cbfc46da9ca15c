import copy

import numpy as np
import pytest
import torch
from mmengine.dataset import pseudo_collate
from mmseg.registry import MODELS, TRANSFORMS

from mmseg_rbc.models.data_preprocessor import flatten_views, is_duplet

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


def one_pixel_rows(*rows: list) -> list[dict]:
    """Pack images of one row: each pixel a BGR color and its label."""
    pack = TRANSFORMS.build(dict(type='PackDupletInputs'))
    erase = TRANSFORMS.build(dict(type='NewClassErase'))
    items = []
    for i, row in enumerate(rows):
        colors, labels = zip(*row)
        results = dict(
            img=np.array([colors], np.uint8),
            gt_seg_map=np.array([labels], np.uint8),
            num_old=3,
            img_path=f'{i}.jpg',
        )
        items.append(pack(erase(results)))
    return items


def test_pixels_of_a_duplet_by_hand():
    """RGB, normalized; the erased pixel is black before that; padded by 0."""
    items = one_pixel_rows(
        [((10, 20, 30), 0), ((40, 50, 60), 3)], [((7, 8, 9), 4)]
    )
    kwargs = dict(mean=[1, 2, 3], std=[2, 4, 5], bgr_to_rgb=True, size=(2, 2))
    out = build(**kwargs)(pseudo_collate(items), True)
    a, b = [14.5, 4.5, 1.4], [29.5, 12, 7.4]
    c, black, pad = [4, 1.5, 0.8], [-0.5, -0.5, -0.6], [0, 0, 0]
    padding = [pad, pad]
    expected = [
        [[a, b], padding],
        [[c, pad], padding],
        [[a, black], padding],
        [[black, pad], padding],
    ]
    found = out['inputs'].permute(0, 2, 3, 1)
    torch.testing.assert_close(found, torch.tensor(expected))
    labels = [s.gt_sem_seg.data[0].tolist() for s in out['data_samples']]
    void = [255, 255]
    assert labels == [
        [[0, 3], void],
        [[4, 255], void],
        [[0, 255], void],
        [void, void],
    ]
    assert [s.img_path for s in out['data_samples']] == [
        *('0.jpg', '1.jpg'),
        *('0.jpg', '1.jpg'),
    ]
    views = [s.metainfo.get('view') for s in out['data_samples']]
    assert views == [None, None, 'erased', 'erased']


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
        for item, image in zip(items, found['inputs']):
            rgb = item['inputs'].flip(0).float()
            mean, std = (
                torch.tensor(NORMALIZE[key])[:, None, None]
                for key in ('mean', 'std')
            )
            torch.testing.assert_close(image, (rgb - mean) / std)


def test_duplets_outside_training():
    """Nothing is padded: four views of one pixel each."""
    items = one_pixel_rows([((4, 6, 8), 1)], [((1, 2, 3), 5)])
    found = build(mean=[1, 2, 3], std=[1, 2, 1])(pseudo_collate(items), False)
    black = [-1, -1, -3]
    pixels = found['inputs'][:, :, 0, 0].tolist()
    assert pixels == [[3, 2, 5], [0, 0, 0], [3, 2, 5], black]
    labels = [int(s.gt_sem_seg.data) for s in found['data_samples']]
    assert labels == [1, 5, 1, 255]


def test_flatten_views():
    assert flatten_views([('a', 'b'), ('c', 'd')]) == ['a', 'b', 'c', 'd']
    image = torch.zeros(3, 1, 1)
    assert is_duplet([(image, image), (image, image)])
    assert not is_duplet([image, image])
    assert not is_duplet(torch.zeros(2, 3, 1, 1))
