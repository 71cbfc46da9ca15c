# Synthetic textured shapes (tools/dataset_converters/make_shapes.py); also an
# example of data of your own: nothing but class names and folders.
data_root = 'data/shapes'
crop_size = (64, 64)
metainfo = dict(
    classes=[
        'background',
        *(
            f'{texture} {form}'
            for form in ('disk', 'square', 'triangle', 'star', 'cross')
            for texture in ('plain', 'striped', 'checked', 'dotted')
        ),
    ]
)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='RandomResizedCrop', crop_size=crop_size),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDupletInputs'),
]
# The habit of MMSeg: the whole image.
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='PackDupletInputs'),
]
dataset = dict(
    type='ContinualDataset',
    data_root=data_root,
    data_prefix=dict(
        img_path='JPEGImages', seg_map_path='SegmentationClassAug'
    ),
    metainfo=metainfo,
)
train_dataloader = dict(
    batch_size=8,
    num_workers=0,
    # A last batch of one image would be too small for batch norm.
    drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        ann_file='ImageSets/Segmentation/trainaug.txt',
        pipeline=train_pipeline,
        **dataset,
    ),
)
val_dataloader = dict(
    batch_size=1,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        ann_file='ImageSets/Segmentation/val.txt',
        pipeline=test_pipeline,
        **dataset,
    ),
)
test_dataloader = val_dataloader
