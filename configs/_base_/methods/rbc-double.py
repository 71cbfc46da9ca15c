# Ablation: PLOP on every image twice.
_base_ = './plop.py'
method = dict(erase=dict(type='NewClassErase', duplicate=True))
