_base_ = [
    '../_base_/benchmarks/shapes.py',
    '../_base_/methods/rw.py',
]
continual = dict(task='15-1', setting='overlapped')
# A weight of 100 and the learning rate of the shapes would not be stable.
method = dict(importance=dict(weight=10.0))
