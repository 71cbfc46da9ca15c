# EWC: running Fisher information.
_base_ = './ft.py'
method = dict(importance=dict(type='EWC', weight=100.0))
