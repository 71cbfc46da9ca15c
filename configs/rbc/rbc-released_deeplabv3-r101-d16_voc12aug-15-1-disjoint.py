_base_ = [
    '../_base_/benchmarks/voc12aug-15-1-disjoint.py',
    '../_base_/methods/rbc_released.py',
]
