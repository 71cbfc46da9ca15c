# As plop_shapes.py, and for the same reason.
_base_ = './rbc.py'
method = dict(
    losses=dict(
        pod=dict(weight=0.001, logits_weight=0.00005),
        consistency=dict(weight=0.0001),
    )
)
