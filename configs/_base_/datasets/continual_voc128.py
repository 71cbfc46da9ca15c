# VOC 2012 trainaug, reduced to 128 pixels: experiments on a CPU.
_base_ = './continual_voc12aug.py'
crop_size = (112, 112)
data_root = 'data/voc12_aug128'
train_dataloader = dict(
    num_workers=2,
    dataset=dict(
        data_root=data_root,
        ann_file='ImageSets/Segmentation/train_aug.txt',
    ),
)
val_dataloader = dict(num_workers=2, dataset=dict(data_root=data_root))
test_dataloader = val_dataloader
