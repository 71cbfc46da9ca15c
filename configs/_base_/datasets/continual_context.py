# Shapes told apart by their neighbors (tools/dataset_converters/
# make_shapes.py --context biased); the whole image, or its context is lost.
crop_size = (96, 96)
# Given to all data sets.
continual = dict(
    data_root='data/context_biased',
    data_prefix=dict(
        img_path='JPEGImages', seg_map_path='SegmentationClassAug'
    ),
    metainfo=dict(
        classes=[
            'background',
            'striped disk',
            'dotted disk',
            *(
                f'{form} by {marker}'
                for form in ('square', 'triangle', 'star', 'cross')
                for marker in ('striped disk', 'dotted disk')
            ),
            'checked disk',
            'checked square',
            'checked star',
        ]
    ),
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDupletInputs'),
]
# The habit of MMSeg: the whole image.
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='PackDupletInputs'),
]
train_dataloader = dict(
    num_workers=0,
    # A last batch of one image would be too small for batch norm.
    drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        type='ContinualDataset',
        ann_file='ImageSets/Segmentation/trainaug.txt',
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=1,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='ContinualDataset',
        ann_file='ImageSets/Segmentation/val.txt',
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
