_base_ = './ade.py'
schedule = dict(later=dict(lr=0.005))
