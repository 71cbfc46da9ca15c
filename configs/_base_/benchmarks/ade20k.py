_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/continual_ade20k.py',
    '../schedules/ade.py',
    '../default_runtime.py',
]
