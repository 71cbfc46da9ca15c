"""What the pipeline shows the network, and the picture of it."""

import numpy as np
import pytest
from mmseg.registry import DATASETS
from PIL import Image

from mmseg_rbc.datasets.shapes import CLASSES
from mmseg_rbc.datasets.transforms import NewClassErase
from mmseg_rbc.visualization import draw_duplets, duplet_views


def build(root, load='LoadContinualAnnotations', **kwargs):
    return DATASETS.build(
        dict(
            type='ContinualDataset',
            data_root=root,
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClassAug'
            ),
            ann_file='ImageSets/Segmentation/trainaug.txt',
            metainfo=dict(classes=CLASSES),
            task='15-5',
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type=load),
                dict(type='RandomResizedCrop', crop_size=(32, 32)),
                dict(type='PackDupletInputs'),
            ],
            **kwargs,
        )
    )


def test_views_show_what_is_trained_on(shapes_root, tmp_path):
    dataset = build(shapes_root, step=1)
    views = duplet_views(dataset, [0, 1], NewClassErase())
    for view in views:
        raw, labels = view['gt_raw_map'], view['gt_seg_map']
        np.testing.assert_array_equal(labels == 255, raw == 255)
        is_new = (raw > 15) & (raw < 255)
        np.testing.assert_array_equal(labels[is_new], raw[is_new])
        assert not labels[raw <= 15].any()
        assert not view['img_erased'][is_new].any()
        kept = raw <= 15
        np.testing.assert_array_equal(
            view['img_erased'][kept], view['img'][kept]
        )
    draw_duplets(dataset, views, str(tmp_path / 'a.png'))
    with Image.open(tmp_path / 'a.png') as picture:
        assert picture.width == 1200
        right = picture.convert('RGB').crop((900, 0, 1200, picture.height))
    found = {color for _, color in right.getcolors(maxcolors=1 << 20)}
    shown = {i for view in views for i in np.unique(view['gt_seg_map'])}
    colors = [tuple(dataset.metainfo['palette'][i]) for i in shown - {255}]
    assert len(colors) > 1 and set(colors) <= found


def test_base_step_has_no_erased_view(shapes_root):
    (view,) = duplet_views(build(shapes_root), [0], NewClassErase())
    np.testing.assert_array_equal(view['img_erased'], view['img'])


def test_stock_loading_is_refused(shapes_root):
    dataset = build(shapes_root, load='LoadAnnotations')
    with pytest.raises(ValueError, match='no LoadContinualAnnotations'):
        duplet_views(dataset, [0], NewClassErase())
