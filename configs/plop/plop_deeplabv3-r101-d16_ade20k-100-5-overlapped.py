_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/continual_ade20k.py',
    '../_base_/tasks/100-5-overlapped.py',
    '../_base_/schedules/ade.py',
    '../_base_/methods/plop_ade.py',
    '../_base_/default_runtime.py',
]
