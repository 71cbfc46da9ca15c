import numpy as np
import pytest
from mmseg.datasets import BaseSegDataset
from mmseg.registry import DATASETS
from PIL import Image

from mmseg_rbc.datasets import ContinualDataset
from mmseg_rbc.datasets.classes import make_palette

CLASSES = ['background', 'cat', 'dog', 'cow', 'owl']
STEPS = [['dog', 'cat'], ['cow'], ['owl']]
LOAD = [dict(type='LoadImageFromFile'), dict(type='LoadContinualAnnotations')]
# Label values: cat 1, dog 2, cow 3, owl 4.
MASKS = dict(
    a=[[0, 1], [2, 255]],
    b=[[3, 1], [0, 0]],
    c=[[3, 4], [2, 0]],
    d=[[0, 0], [0, 0]],
    e=[[4, 4], [1, 3]],
)


def build(root, classes=CLASSES, task=STEPS, **kwargs) -> ContinualDataset:
    cfg = dict(
        type='ContinualDataset',
        data_root=str(root),
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        ann_file='list.txt',
        metainfo=dict(classes=classes),
        task=task,
        pipeline=LOAD,
    )
    return DATASETS.build({**cfg, **kwargs})


def names(dataset) -> list[str]:
    infos = [dataset.get_data_info(i) for i in range(len(dataset))]
    return [info['img_path'][-5] for info in infos]


@pytest.mark.parametrize(
    'setting, expected',
    [
        ('overlapped', ['abce', 'bce', 'ce']),
        ('disjoint', ['a', 'b', 'ce']),
        ('sequential', ['a', 'b', 'ce']),
    ],
)
def test_images_of_every_step(write_data, setting, expected):
    root = write_data(MASKS)
    found = [
        ''.join(names(build(root, step=step, setting=setting)))
        for step in range(3)
    ]
    assert found == expected


def test_partitioned_holds_every_image_once(write_data):
    root = write_data({f'{c}': MASKS[c] for c in MASKS})
    found = []
    for step in range(3):
        try:
            dataset = build(root, step=step, setting='partitioned', seed=3)
            found += names(dataset)
        except ValueError as error:
            assert 'selects none of the 5 images' in str(error)
    assert sorted(found) == list('abcde')


def test_training_labels(write_data):
    root = write_data(MASKS)
    # Network: background 0, dog 1, cat 2, cow 3, owl 4.
    base = build(root, step=0)[0]['gt_seg_map']
    assert base.tolist() == [[0, 2], [1, 255]]
    step1 = build(root, step=1)
    assert step1[0]['gt_seg_map'].tolist() == [[3, 0], [0, 0]]
    assert step1[0]['num_old'] == 3
    sequential = build(root, step=1, setting='sequential')[0]['gt_seg_map']
    assert sequential.tolist() == [[3, 2], [0, 0]]


def test_evaluation_labels_and_images(write_data):
    root = write_data(MASKS)
    val = build(root, step=1, test_mode=True)
    assert names(val) == list('abcde')
    assert val[2]['gt_seg_map'].tolist() == [[3, 0], [1, 0]]
    ignoring = build(root, step=1, test_mode=True, unseen='ignore')
    assert ignoring[2]['gt_seg_map'].tolist() == [[3, 255], [1, 0]]
    seen = build(root, step=0, test_mode=True, eval_images='seen')
    assert names(seen) == list('abce')
    last = build(root, step=2, test_mode=True, eval_images='seen')
    assert names(last) == list('abcde'), 'all images at the last step'
    assert seen.metainfo['eval_images'] == 'seen'
    assert ignoring.metainfo['unseen'] == 'ignore'


def test_metainfo(write_data):
    info = build(write_data(MASKS), step=1).metainfo
    assert info['classes'] == info['seen']
    assert info['seen'] == ('background', 'dog', 'cat', 'cow')
    assert info['old'] == ('background', 'dog', 'cat')
    assert info['new'] == ('cow',)
    assert info['num_old'] == 3 and info['step'] == 1
    assert info['task'] == '2+1+1' and info['setting'] == 'overlapped'
    palette = make_palette(5)
    assert info['palette'] == [palette[c] for c in (0, 2, 1, 3)]


def test_data_without_background(write_data):
    """Value 0 is a class: it becomes class 1, and background has no pixel."""
    root = write_data(dict(a=[[0, 1], [2, 255]], b=[[2, 2], [1, 0]]))
    classes, task = ['sky', 'sea', 'land'], [['land'], ['sky', 'sea']]
    base = build(root, classes, task)
    assert base.metainfo['classes'] == ('not learned yet', 'land')
    assert base[0]['gt_seg_map'].tolist() == [[0, 0], [1, 255]]
    val = build(root, classes, task, step=1, test_mode=True)
    assert val.metainfo['seen'] == ('not learned yet', 'land', 'sky', 'sea')
    assert val[1]['gt_seg_map'].tolist() == [[1, 1], [3, 2]]


def test_stock_loading_gives_the_same_labels(write_data):
    root = write_data(MASKS)
    stock = [dict(type='LoadImageFromFile'), dict(type='LoadAnnotations')]
    for step in range(3):
        ours, theirs = (
            build(root, step=step),
            build(root, step=step, pipeline=stock),
        )
        for i in range(len(ours)):
            np.testing.assert_array_equal(
                ours[i]['gt_seg_map'], theirs[i]['gt_seg_map']
            )


def test_folder_without_list(write_data):
    root = write_data(MASKS)
    assert names(build(root, ann_file='', step=1)) == list('bce')


def test_published_split_replaces_the_rule(write_data, tmp_path):
    root = write_data(MASKS)
    np.save(tmp_path / 'train-1.npy', np.array([3, 1]))
    dataset = build(root, step=1, split_dir=str(tmp_path))
    assert names(dataset) == ['d', 'b']


@pytest.mark.parametrize('ending', ['', '\n', '\n\n', '\r\n'])
def test_last_line_of_the_list(write_data, ending):
    root = write_data(MASKS)
    (root / 'list.txt').write_text('\n'.join('abcde') + ending)
    assert names(build(root, step=1)) == list('bce')


def test_background_may_be_capitalised(write_data):
    dataset = build(write_data(MASKS), ['Background', *CLASSES[1:]])
    assert dataset[0]['gt_seg_map'].tolist() == [[0, 2], [1, 255]]


def test_partitioned_follows_the_seed(write_data):
    masks = {f'i{i}': [[1, 3]] for i in range(24)}
    root = write_data(masks)
    splits = []
    for seed in (0, 0, 1):
        step = build(
            root, task='2-2', step=1, setting='partitioned', seed=seed
        )
        infos = [step.get_data_info(i) for i in range(len(step))]
        splits.append([info['img_path'] for info in infos])
    assert splits[0] == splits[1] != splits[2]


def test_mixin_over_a_stock_dataset(write_data):
    from mmseg_rbc.datasets import ContinualMixin

    class Animals(BaseSegDataset):
        METAINFO = dict(classes=CLASSES, palette=[[i] * 3 for i in range(5)])

    class ContinualAnimals(ContinualMixin, Animals):
        pass

    root = str(write_data(MASKS))
    dataset = ContinualAnimals(
        data_root=root,
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        ann_file='list.txt',
        task='2-1',
        step=2,
    )
    assert names(dataset) == list('ce')
    assert dataset.metainfo['palette'][-1] == [4, 4, 4]


def bad_mask(path: str, value: int):
    def change(root):
        mask = np.full((2, 2), value, np.uint8)
        Image.fromarray(mask).save(root / 'SegmentationClassAug' / path)

    return change


@pytest.mark.parametrize(
    'change, kwargs, error, sentence',
    [
        (
            lambda root: (root / 'SegmentationClassAug/c.png').unlink(),
            {},
            FileNotFoundError,
            r'mask .*c\.png does not exist \(1 of the 5 masks of .*list',
        ),
        (
            lambda root: (root / 'JPEGImages/e.jpg').unlink(),
            {},
            FileNotFoundError,
            r'image .*e\.jpg does not exist \(1 of the 5 images',
        ),
        (
            bad_mask('b.png', 17),
            {},
            ValueError,
            r'mask .*b\.png holds the unknown label value 17, expected 0 to 4',
        ),
        (
            lambda root: (root / 'list.txt').unlink(),
            {},
            FileNotFoundError,
            'list.txt does not exist .*JPEGImages',
        ),
        (None, dict(ann_file='no/l.txt'), FileNotFoundError, 'holds nothing'),
        (None, dict(task='4-1'), ValueError, 'leaves no class for step 1'),
        (None, dict(step=3), ValueError, 'steps 0 to 2, got step 3'),
        (None, dict(task=5), ValueError, 'task 5 is neither'),
        (None, dict(img_suffix='.tif', ann_file=''), ValueError, 'no image'),
        (
            None,
            dict(task=[['owl'], ['cow']], setting='disjoint', step=1),
            ValueError,
            'images with cat, dog, which no step learns',
        ),
        (None, dict(setting='both'), ValueError, "setting 'both' is unknown"),
        (None, dict(eval_images='a'), ValueError, "eval_images='a'"),
        (None, dict(metainfo=None), ValueError, 'metainfo.classes is missing'),
        (
            None,
            dict(metainfo=dict(classes=['x', 'y', 'x'])),
            ValueError,
            "class 'x' stands more than once in metainfo.classes",
        ),
        (
            None,
            dict(metainfo=dict(classes=CLASSES, palette=[[0] * 3] * 2)),
            ValueError,
            'palette has 2 colors',
        ),
        (None, dict(task=[['cat'], ['eel']]), ValueError, "'eel' is unk"),
        (None, dict(task=[['cat'], ['cat']]), ValueError, 'more than once'),
        (
            None,
            dict(reduce_zero_label=True),
            ValueError,
            'reduce_zero_label=True makes background ignored',
        ),
        (
            None,
            dict(data_prefix=dict(img_path='JPEGImages', seg_map_path=None)),
            Exception,
            'seg_map_path|prefix should be a string',
        ),
        (
            lambda root: (root / 'list.txt').write_text('a\nd\n'),
            dict(step=1),
            ValueError,
            'step 1 of task .* selects none of the 2 images of .*list.txt',
        ),
    ],
)
def test_bad_input(write_data, change, kwargs, error, sentence):
    root = write_data(MASKS)
    if change:
        change(root)
    with pytest.raises(error, match=sentence):
        build(root, **kwargs)
