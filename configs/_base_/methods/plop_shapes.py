# The features and logits of the tiny network are larger than those of a
# pretrained ResNet-101, so the weights of their distances are smaller.
_base_ = './plop.py'
method = dict(losses=dict(pod=dict(weight=0.001, logits_weight=0.00005)))
