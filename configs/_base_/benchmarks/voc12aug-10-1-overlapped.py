_base_ = [
    '../models/deeplabv3_r101-d16.py',
    '../datasets/continual_voc12aug.py',
    '../tasks/10-1-overlapped.py',
    '../schedules/voc_10-1.py',
    '../default_runtime.py',
]
