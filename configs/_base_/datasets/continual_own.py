# Data of your own: tools/new_config.py writes folders, classes and steps.
# crop_size is put into the transforms and the preprocessor of each step.
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
    num_workers=2,
    persistent_workers=True,
    # A last batch of one image would be too small for batch norm.
    drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(type='ContinualDataset', pipeline=train_pipeline),
)
val_dataloader = dict(
    batch_size=1,
    num_workers=2,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(type='ContinualDataset', pipeline=test_pipeline),
)
test_dataloader = val_dataloader
