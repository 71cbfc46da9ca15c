# PASCAL VOC 2012 trainaug, with the published transforms and evaluation.
data_root = 'data/VOCdevkit/VOC2012'
crop_size = (512, 512)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='RandomResizedCrop', crop_size=crop_size),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDupletInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='CenterCropShortSide', crop_size=512),
    dict(type='PackDupletInputs'),
]
dataset = dict(
    type='ContinualVOCDataset',
    data_root=data_root,
    data_prefix=dict(
        img_path='JPEGImages', seg_map_path='SegmentationClassAug'
    ),
)
train_dataloader = dict(
    batch_size=4,
    num_workers=4,
    persistent_workers=True,
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
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        ann_file='ImageSets/Segmentation/val.txt',
        pipeline=test_pipeline,
        eval_images='seen',
        **dataset,
    ),
)
test_dataloader = val_dataloader
