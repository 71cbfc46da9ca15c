# RBC as in the released code: docs/paper_and_code.md.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='released'),
    erase=dict(type='NewClassErase'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.01, logits_weight=0.0005),
        consistency=dict(
            type='ContextConsistencyLoss', pairing='teacher', weight=0.01
        ),
    ),
)
