_base_ = './voc.py'
schedule = dict(base=dict(epochs=60), later=dict(epochs=60))
