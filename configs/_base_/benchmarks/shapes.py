_base_ = [
    '../models/fcn_tiny.py',
    '../datasets/continual_shapes.py',
    '../schedules/shapes.py',
    '../default_runtime.py',
]
# An epoch takes a second: a checkpoint of each would double that.
default_hooks = dict(checkpoint=dict(interval=10))
