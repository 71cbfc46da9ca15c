_base_ = [
    '../_base_/benchmarks/shapes-15-1-overlapped.py',
    '../_base_/methods/rw.py',
]
