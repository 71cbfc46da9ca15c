_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/mib-ewf.py',
]
continual = dict(task='100-50', setting='overlapped')
