_base_ = [
    '../_base_/benchmarks/voc12aug.py',
    '../_base_/methods/mib-awt.py',
]
continual = dict(task='15-1', setting='disjoint')
# Of many steps: MiB's authors use 100 there, not 10.
method = dict(losses=dict(kd=dict(weight=100.0)))
