"""All eight classes at once, from all images: the upper bound."""

_base_ = 'stock.py'
metainfo = dict(
    classes=(
        'sky',
        'tree',
        'road',
        'grass',
        'building',
        'mountain',
        'foreground',
        'water',
    ),
    palette=[
        [70, 130, 180],
        [107, 142, 35],
        [128, 64, 128],
        [152, 251, 152],
        [70, 70, 70],
        [190, 153, 153],
        [220, 20, 60],
        [0, 0, 230],
    ],
)
model = dict(decode_head=dict(num_classes=8))
train_dataloader = dict(
    dataset=dict(
        metainfo=metainfo,
        data_prefix=dict(seg_map_path='masks_all'),
        ann_file='train.txt',
    )
)
val_dataloader = dict(
    dataset=dict(metainfo=metainfo, data_prefix=dict(seg_map_path='masks_all'))
)
test_dataloader = val_dataloader
