# PI: path integral.
_base_ = './ft.py'
method = dict(importance=dict(type='PI', weight=100.0))
