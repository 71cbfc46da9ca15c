# RBC: PLOP on duplets, with consistency and the balance weight.
_base_ = './rbc-duplet-ctx.py'
method = dict(balance=True)
