_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/mib-awt.py',
]
continual = dict(task='100-5', setting='overlapped')
# Of many steps: MiB's authors use 100 there, not 10.
method = dict(losses=dict(kd=dict(weight=100.0)))
