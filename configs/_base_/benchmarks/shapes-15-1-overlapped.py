_base_ = [
    '../models/fcn_tiny.py',
    '../datasets/continual_shapes.py',
    '../tasks/15-1-overlapped.py',
    '../schedules/shapes.py',
    '../shapes_runtime.py',
]
