_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/rbc_ade.py',
]
continual = dict(task='50-50', setting='overlapped')
schedule = dict(later=dict(lr=0.005))
