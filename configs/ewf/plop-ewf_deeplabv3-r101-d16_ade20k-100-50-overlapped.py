_base_ = [
    '../_base_/benchmarks/ade20k.py',
    '../_base_/methods/plop-ewf_ade.py',
]
continual = dict(task='100-50', setting='overlapped')
