# As the published code: see REPRODUCIBILITY.md.
_base_ = './rbc-duplet-ctx.py'
method = dict(
    pseudo_labeler=dict(estimator='released'),
    losses=dict(consistency=dict(pairing='teacher')),
)
