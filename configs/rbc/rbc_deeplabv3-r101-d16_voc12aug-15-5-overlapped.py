_base_ = [
    '../_base_/benchmarks/voc12aug-15-5-overlapped.py',
    '../_base_/methods/rbc.py',
]
