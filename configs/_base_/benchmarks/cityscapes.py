_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/continual_cityscapes.py',
    '../schedules/cityscapes.py',
    '../default_runtime.py',
]
