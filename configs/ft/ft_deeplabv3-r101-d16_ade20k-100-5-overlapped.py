_base_ = [
    '../_base_/benchmarks/ade20k-100-5-overlapped.py',
    '../_base_/methods/ft.py',
]
