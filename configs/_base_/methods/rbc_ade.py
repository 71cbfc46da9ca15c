_base_ = './rbc.py'
method = dict(losses=dict(pod=dict(weight=0.001, logits_weight=0.00001)))
