_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/mib-awt.py',
]
continual = dict(task='50-50', setting='overlapped')
