_base_ = [
    '../_base_/benchmarks/ade20k-100-50-overlapped.py',
    '../_base_/methods/ilt.py',
]
