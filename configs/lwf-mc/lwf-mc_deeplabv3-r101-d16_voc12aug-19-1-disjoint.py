_base_ = [
    '../_base_/benchmarks/voc12aug-19-1-disjoint.py',
    '../_base_/methods/lwf-mc.py',
]
