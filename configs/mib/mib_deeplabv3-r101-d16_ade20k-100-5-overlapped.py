_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/mib.py',
]
continual = dict(task='100-5', setting='overlapped')
