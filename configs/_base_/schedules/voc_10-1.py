_base_ = './voc.py'
schedule = dict(later=dict(epochs=10))
