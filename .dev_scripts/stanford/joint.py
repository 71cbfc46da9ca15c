"""All eight classes at once, from all images: the upper bound."""

_base_ = 'stock.py'
metainfo = dict(
    classes=[*_base_.classes, _base_.held_out],  # type: ignore
    palette=[*_base_.palette, _base_.colors[_base_.held_out]],  # type: ignore
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
