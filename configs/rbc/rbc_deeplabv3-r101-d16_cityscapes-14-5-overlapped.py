_base_ = [
    '../_base_/benchmarks/cityscapes.py',
    '../_base_/methods/rbc.py',
]
continual = dict(task='14-5', setting='overlapped')
