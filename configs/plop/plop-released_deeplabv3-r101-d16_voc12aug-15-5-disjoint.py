_base_ = [
    '../_base_/benchmarks/voc12aug-15-5-disjoint.py',
    '../_base_/methods/plop_released.py',
]
