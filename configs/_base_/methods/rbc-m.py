# RBC with a memory: half of each batch is of earlier steps.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='published'),
    balance=True,
    erase=dict(type='NewClassErase'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.01, logits_weight=0.0005),
        consistency=dict(
            type='ContextConsistencyLoss', pairing='student', weight=0.01
        ),
    ),
    memory=dict(size=100),
)
