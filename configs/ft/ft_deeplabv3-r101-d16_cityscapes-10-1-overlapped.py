_base_ = [
    '../_base_/benchmarks/cityscapes.py',
    '../_base_/methods/ft.py',
]
continual = dict(task='10-1', setting='overlapped')
