_base_ = [
    '../_base_/models/deeplabv3_r101-d16.py',
    '../_base_/datasets/continual_voc12aug.py',
    '../_base_/tasks/15-5-disjoint.py',
    '../_base_/schedules/voc.py',
    '../_base_/methods/ft.py',
    '../_base_/default_runtime.py',
]
