_base_ = [
    '../_base_/benchmarks/voc128.py',
    '../_base_/methods/ft.py',
]
continual = dict(task='19-1', setting='overlapped')
