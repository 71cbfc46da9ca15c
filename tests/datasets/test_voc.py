import numpy as np
import pytest
from mmseg.registry import DATASETS
from PIL import Image

from mmseg_rbc.datasets.class_index import shipped_names

LOAD = [dict(type='LoadImageFromFile'), dict(type='LoadContinualAnnotations')]


def build(root, **kwargs):
    cfg = dict(
        type='ContinualVOCDataset',
        data_root=str(root),
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        ann_file='list.txt',
        task='15-1',
        pipeline=LOAD,
    )
    return DATASETS.build({**cfg, **kwargs})


def test_shipped_index_decides_for_voc_names(write_data):
    """2007_000032 holds classes 1 and 15, whatever this fake mask holds."""
    fake = dict.fromkeys(['2007_000032', '2007_000039'], [[0, 16]])
    root = write_data(fake)
    assert len(build(root, step=0)) == 1
    assert len(build(root, step=5)) == 1
    with pytest.raises(ValueError, match='selects none'):
        build(root, step=1)
    assert len(build(root, step=1, use_shipped_index=False)) == 2
    assert len(list(root.rglob('*.npz'))) == 1, 'scanned only when asked'


def test_other_names_are_scanned(write_data):
    dataset = build(write_data(dict(mine=[[0, 16]])), step=1)
    assert dataset[0]['gt_seg_map'].tolist() == [[0, 16]]
    assert dataset.metainfo['new'] == ('pottedplant',)


def test_two_layouts_of_the_masks(write_data):
    """MMSeg's converter leaves fine masks in SegmentationClass only."""
    names = ['2007_000032', '2007_000039', '2008_000002']
    root = write_data(dict.fromkeys(names, [[0, 1]]))
    one_folder = build(root, use_shipped_index=False)
    assert len(one_folder) == 3
    fine = root / 'SegmentationClass'
    fine.mkdir()
    # Present in both, with different labels, and missing in one.
    for name in names[:2]:
        mask = Image.fromarray(np.array([[2, 255]], np.uint8))
        mask.putpalette(list(range(256)) * 3)
        mask.save(fine / f'{name}.png')
    assert build(root, use_shipped_index=False)[1]['gt_seg_map'][0, 0] == 0
    (root / f'SegmentationClassAug/{names[0]}.png').unlink()
    both = build(root, use_shipped_index=False)
    labels = [both[i]['gt_seg_map'].tolist() for i in range(3)]
    assert labels == [[[2, 255]], [[2, 255]], [[0, 1]]]
    (root / f'SegmentationClassAug/{names[2]}.png').unlink()
    with pytest.raises(FileNotFoundError, match='2008_000002.png does not'):
        build(root)


def test_concatenation_as_in_mmseg(write_data):
    root = write_data(dict(a=[[16]], b=[[0]], c=[[16]]))
    (root / 'one.txt').write_text('a\nb')
    (root / 'two.txt').write_text('c')
    parts = [build(root, step=1, ann_file=f'{n}.txt') for n in ('one', 'two')]
    both = DATASETS.build(dict(type='ConcatDataset', datasets=parts))
    assert len(both) == 2
    assert both[1]['img_path'].endswith('c.jpg')


@pytest.mark.real_data
def test_real_voc(real_data):
    """Counts of the whole trainaug list, from real files."""
    counts = {}
    for setting in ('overlapped', 'disjoint'):
        counts[setting] = [
            len(
                build(
                    real_data,
                    ann_file='ImageSets/Segmentation/train_aug.txt',
                    step=step,
                    setting=setting,
                )
            )
            for step in range(6)
        ]
    assert counts['overlapped'] == [9568, 487, 299, 491, 500, 548]
    assert counts['disjoint'] == [8437, 378, 299, 420, 500, 548]
    scanned = build(
        real_data,
        ann_file='ImageSets/Segmentation/train_aug.txt',
        step=1,
        use_shipped_index=False,
    )
    assert abs(len(scanned) - 487) <= 2
    lines = (real_data / 'ImageSets/Segmentation/train_aug.txt').read_text()
    assert lines.split() == shipped_names('trainaug')
