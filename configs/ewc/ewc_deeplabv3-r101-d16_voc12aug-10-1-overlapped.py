_base_ = [
    '../_base_/benchmarks/voc12aug-10-1-overlapped.py',
    '../_base_/methods/ewc.py',
]
