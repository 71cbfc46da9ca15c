_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/lgkd_ade.py',
]
continual = dict(task='100-10', setting='overlapped')
