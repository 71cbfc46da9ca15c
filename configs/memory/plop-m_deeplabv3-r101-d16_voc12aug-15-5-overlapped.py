_base_ = [
    '../_base_/benchmarks/voc12aug.py',
    '../_base_/methods/plop-m.py',
]
continual = dict(task='15-5', setting='overlapped')
