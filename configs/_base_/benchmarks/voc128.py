_base_ = [
    '../models/deeplabv3_mv2-d16.py',
    '../datasets/continual_voc128.py',
    '../schedules/voc128.py',
    '../default_runtime.py',
]
