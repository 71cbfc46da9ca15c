_base_ = './plop.py'
method = dict(losses=dict(pod=dict(weight=0.001, logits_weight=0.00001)))
