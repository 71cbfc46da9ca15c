# Synthetic textured shapes (tools/dataset_converters/make_shapes.py); also an
# example of data of your own: nothing but class names and folders.
# crop_size is put into the transforms and the preprocessor of each step.
crop_size = (64, 64)
# Given to all data sets.
continual = dict(
    data_root='data/shapes',
    data_prefix=dict(
        img_path='JPEGImages', seg_map_path='SegmentationClassAug'
    ),
    metainfo=dict(
        classes=[
            'background',
            'plain disk',
            'striped square',
            'checked triangle',
            'dotted star',
            'plain cross',
            'striped disk',
            'checked square',
            'dotted triangle',
            'plain star',
            'striped cross',
            'checked disk',
            'dotted square',
            'plain triangle',
            'striped star',
            'checked cross',
            'dotted disk',
            'plain square',
            'striped triangle',
            'checked star',
            'dotted cross',
        ]
    ),
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='RandomResizedCrop'),
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
