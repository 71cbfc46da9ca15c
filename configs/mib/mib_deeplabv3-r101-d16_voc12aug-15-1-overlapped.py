_base_ = [
    '../_base_/benchmarks/voc12aug-15-1-overlapped.py',
    '../_base_/methods/mib.py',
]
