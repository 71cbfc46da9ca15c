_base_ = [
    '../_base_/benchmarks/voc12aug.py',
    '../_base_/methods/mib-ewf.py',
]
continual = dict(task='19-1', setting='disjoint')
