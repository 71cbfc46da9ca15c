_base_ = [
    '../_base_/benchmarks/shapes-15-1-overlapped.py',
    '../_base_/methods/rw.py',
]
# A weight of 100 and the learning rate of the shapes would not be stable.
method = dict(importance=dict(weight=10.0))
