# Cityscapes as AWT (WACV 2023) has it: 19 classes behind class 0, which is
# what is not learned yet, and label id 0. For the masks that MMSeg's converter
# makes, leave out seg_map_suffix.
# crop_size is put into the transforms and the preprocessor of each step.
crop_size = (512, 512)
# Given to all data sets.
continual = dict(
    data_root='data/cityscapes', seg_map_suffix='_gtFine_labelIds.png'
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
    num_workers=4,
    persistent_workers=True,
    # A last batch of one image would be too small for batch norm.
    drop_last=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        type='ContinualCityscapesDataset',
        data_prefix=dict(
            img_path='leftImg8bit/train', seg_map_path='gtFine/train'
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
        type='ContinualCityscapesDataset',
        data_prefix=dict(
            img_path='leftImg8bit/val', seg_map_path='gtFine/val'
        ),
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
