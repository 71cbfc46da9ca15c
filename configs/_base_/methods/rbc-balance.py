# Ablation: PLOP with the balance weight.
_base_ = './plop.py'
method = dict(balance=True)
