# ILT: LwF, and the last backbone feature stays the same.
_base_ = './lwf.py'
method = dict(
    losses=dict(feature=dict(type='FeatureDistillationLoss', weight=100.0))
)
