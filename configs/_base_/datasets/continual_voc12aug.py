# PASCAL VOC 2012 trainaug, with the published transforms and evaluation.
# crop_size is put into the transforms and the preprocessor of each step.
crop_size = (512, 512)
# Given to all data sets; eval_images as published.
continual = dict(data_root='data/VOCdevkit/VOC2012', eval_images='seen')
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='RandomResizedCrop'),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDupletInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadContinualAnnotations'),
    dict(type='CenterCropShortSide'),
    dict(type='PackDupletInputs'),
]
train_dataloader = dict(
    num_workers=4,
    persistent_workers=True,
    # A last batch of one image would be too small for batch norm.
    drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        type='ContinualVOCDataset',
        ann_file='ImageSets/Segmentation/trainaug.txt',
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=1,
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='ContinualVOCDataset',
        ann_file='ImageSets/Segmentation/val.txt',
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
