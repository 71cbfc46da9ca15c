from mmseg.datasets import ADE20KDataset
from mmseg.registry import DATASETS


def test_background_is_class_0_of_151(write_data):
    root = write_data(dict(a=[[0, 1], [100, 101]], b=[[150, 101], [1, 0]]))
    dataset = DATASETS.build(
        dict(
            type='ContinualADE20KDataset',
            data_root=str(root),
            data_prefix=dict(
                img_path='JPEGImages', seg_map_path='SegmentationClassAug'
            ),
            task='100-50',
            step=1,
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='LoadContinualAnnotations'),
            ],
        )
    )
    classes = dataset.metainfo['classes']
    assert classes == ('background', *ADE20KDataset.METAINFO['classes'])
    assert len(dataset.metainfo['palette']) == 151
    assert dataset.metainfo['num_old'] == 101
    assert dataset[0]['gt_seg_map'].tolist() == [[0, 0], [0, 101]]
    assert dataset[1]['gt_seg_map'].tolist() == [[150, 101], [0, 0]]
