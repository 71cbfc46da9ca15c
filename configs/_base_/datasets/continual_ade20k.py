# ADE20K with background (151 classes), published transforms and evaluation.
# crop_size is put into the transforms and the preprocessor of each step.
crop_size = (512, 512)
# Given to all data sets; eval_images as published.
continual = dict(data_root='data/ade/ADEChallengeData2016', eval_images='seen')
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
        type='ContinualADE20KDataset',
        data_prefix=dict(
            img_path='images/training', seg_map_path='annotations/training'
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
        type='ContinualADE20KDataset',
        data_prefix=dict(
            img_path='images/validation', seg_map_path='annotations/validation'
        ),
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
