_base_ = [
    '../_base_/benchmarks/voc128.py',
    '../_base_/methods/plop.py',
]
continual = dict(task='15-5', setting='overlapped')
