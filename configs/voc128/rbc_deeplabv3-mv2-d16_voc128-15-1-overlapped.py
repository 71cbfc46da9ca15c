_base_ = [
    '../_base_/benchmarks/voc128-15-1-overlapped.py',
    '../_base_/methods/rbc.py',
]
