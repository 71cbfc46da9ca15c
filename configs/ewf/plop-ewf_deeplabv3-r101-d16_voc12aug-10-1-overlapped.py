_base_ = [
    '../_base_/benchmarks/voc12aug.py',
    '../_base_/methods/plop-ewf.py',
]
continual = dict(task='10-1', setting='overlapped')
# Ten epochs a step, as published.
schedule = dict(later=dict(epochs=10))
