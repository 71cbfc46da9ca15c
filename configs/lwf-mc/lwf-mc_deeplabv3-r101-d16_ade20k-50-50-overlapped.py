_base_ = [
    '../_base_/benchmarks/ade20k-50-50-overlapped.py',
    '../_base_/methods/lwf-mc.py',
]
