_base_ = [
    '../_base_/benchmarks/voc12aug.py',
    '../_base_/methods/lgkd.py',
]
continual = dict(task='19-1', setting='disjoint')
