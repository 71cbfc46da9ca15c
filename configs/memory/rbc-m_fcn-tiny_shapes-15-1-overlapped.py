_base_ = [
    '../_base_/benchmarks/shapes.py',
    '../_base_/methods/rbc-m.py',
]
continual = dict(task='15-1', setting='overlapped')
