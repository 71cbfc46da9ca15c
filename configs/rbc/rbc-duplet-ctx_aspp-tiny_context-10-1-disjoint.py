_base_ = [
    '../_base_/benchmarks/context.py',
    '../_base_/methods/rbc-duplet-ctx.py',
]
continual = dict(task='10-1', setting='disjoint')
