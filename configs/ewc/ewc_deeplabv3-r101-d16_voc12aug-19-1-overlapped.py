_base_ = [
    '../_base_/benchmarks/voc12aug-19-1-overlapped.py',
    '../_base_/methods/ewc.py',
]
