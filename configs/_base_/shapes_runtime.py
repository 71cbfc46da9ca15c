_base_ = './default_runtime.py'
# An epoch takes a second: a checkpoint of each would double that.
default_hooks = dict(checkpoint=dict(interval=10))
