_base_ = [
    '../_base_/benchmarks/voc12aug-10-1-overlapped.py',
    '../_base_/methods/rbc.py',
]
# RBC trains longer than the others here.
schedule = dict(later=dict(epochs=30))
