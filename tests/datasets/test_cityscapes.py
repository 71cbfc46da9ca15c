import numpy as np
import pytest
from mmseg.registry import DATASETS
from PIL import Image

# By label id and by train id: unlabeled, road, static, bicycle, car.
LABEL_IDS = [[0, 7, 4], [33, 26, 26]]
TRAIN_IDS = [[255, 0, 255], [18, 13, 13]]


@pytest.fixture
def root(tmp_path):
    for folder in ('leftImg8bit/train/bonn', 'gtFine/train/bonn'):
        (tmp_path / folder).mkdir(parents=True)
    image = Image.fromarray(np.zeros((2, 3, 3), np.uint8))
    image.save(tmp_path / 'leftImg8bit/train/bonn/a_leftImg8bit.png')
    for kind, values in dict(Ids=LABEL_IDS, TrainIds=TRAIN_IDS).items():
        mask = Image.fromarray(np.array(values, np.uint8))
        path = f'gtFine/train/bonn/a_gtFine_label{kind}.png'
        mask.save(tmp_path / path)
    return tmp_path


def build(root, kind: str, **more):
    prefix = dict(img_path='leftImg8bit/train', seg_map_path='gtFine/train')
    return DATASETS.build(
        dict(
            type='ContinualCityscapesDataset',
            data_root=str(root),
            data_prefix=prefix,
            seg_map_suffix=f'_gtFine_label{kind}.png',
            task='14-1',
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='LoadContinualAnnotations'),
            ],
            **more,
        )
    )


@pytest.mark.parametrize('kind, unlabeled', [('Ids', 0), ('TrainIds', 255)])
def test_both_kinds_of_masks(root, kind, unlabeled):
    """Step 0 learns road ... car; bicycle is the last of 19."""
    base = build(root, kind)
    labels = base[0]['gt_seg_map'].tolist()
    assert labels == [[unlabeled, 1, 255], [0, 14, 14]]
    last = build(root, kind, step=5)
    labels = last[0]['gt_seg_map'].tolist()
    assert labels == [[unlabeled, 0, 255], [19, 0, 0]]
    assert last.metainfo['classes'][0] == 'not learned yet'
    assert last.metainfo['new'] == ('bicycle',)
    assert len(last.metainfo['classes']) == 20
    first = dict(Ids=[0, 7, 8], TrainIds=[255, 0, 1])[kind]
    assert last.metainfo['label_values'][:3] == first


def test_all_ids_have_a_meaning(root):
    """19 are classes, 0 is class 0, and 14 are ignored."""
    table = build(root, 'Ids', test_mode=True, step=5).get_label_map()
    assert sorted(table) == [*range(34), 255]
    assert sorted(set(table.values())) == [*range(20), 255]
    assert sum(label == 255 for label in table.values()) == 15
