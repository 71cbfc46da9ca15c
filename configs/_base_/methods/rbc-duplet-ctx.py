# Ablation: duplets and consistency, without the balance weight.
_base_ = './rbc-duplet.py'
method = dict(
    losses=dict(
        consistency=dict(
            type='ContextConsistencyLoss', pairing='student', weight=0.01
        )
    )
)
