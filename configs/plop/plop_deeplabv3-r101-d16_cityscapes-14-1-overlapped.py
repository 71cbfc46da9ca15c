_base_ = [
    '../_base_/benchmarks/cityscapes.py',
    '../_base_/methods/plop.py',
]
continual = dict(task='14-1', setting='overlapped')
