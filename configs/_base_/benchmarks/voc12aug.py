_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/continual_voc12aug.py',
    '../schedules/voc.py',
    '../default_runtime.py',
]
