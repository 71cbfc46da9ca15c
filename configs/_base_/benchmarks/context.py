_base_ = [
    '../models/aspp_tiny.py',
    '../datasets/continual_context.py',
    '../schedules/shapes.py',
    '../recipes/small.py',
    '../default_runtime.py',
]
recipe = dict(relative_pod=0.3, clip_norm=2.0, warmup_iters=20)
default_hooks = dict(checkpoint=dict(interval=10))
