# Joint: all classes at once, with all labels; the upper bound.
_base_ = './ft.py'
method = dict(joint=True)
