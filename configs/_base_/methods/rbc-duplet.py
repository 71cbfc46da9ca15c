# Ablation: PLOP on duplets.
_base_ = './plop.py'
method = dict(erase=dict(type='NewClassErase'))
