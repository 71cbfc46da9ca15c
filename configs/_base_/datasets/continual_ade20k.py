# ADE20K with background (151 classes), published transforms and evaluation.
_base_ = './continual_voc12aug.py'
data_root = 'data/ade/ADEChallengeData2016'
train = dict(
    type='ContinualADE20KDataset',
    data_root=data_root,
    ann_file='',
    data_prefix=dict(
        img_path='images/training', seg_map_path='annotations/training'
    ),
)
val = dict(
    type='ContinualADE20KDataset',
    data_root=data_root,
    ann_file='',
    data_prefix=dict(
        img_path='images/validation', seg_map_path='annotations/validation'
    ),
)
train_dataloader = dict(dataset=train)
val_dataloader = dict(dataset=val)
test_dataloader = val_dataloader
