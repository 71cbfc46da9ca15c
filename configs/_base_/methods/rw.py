# RW: Fisher information and path.
_base_ = './ft.py'
method = dict(importance=dict(type='RW', weight=100.0))
