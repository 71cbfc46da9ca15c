_base_ = [
    '../_base_/models/fcn_tiny.py',
    '../_base_/datasets/continual_shapes.py',
    '../_base_/tasks/15-1-overlapped.py',
    '../_base_/schedules/shapes.py',
    '../_base_/methods/rbc_shapes.py',
    '../_base_/shapes_runtime.py',
]
