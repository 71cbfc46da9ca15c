# RBC, with the weights of PLOP for ADE20K.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='median'),
    balance=True,
    erase=dict(type='NewClassErase'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.001, logits_weight=0.00001),
        consistency=dict(
            type='ContextConsistencyLoss', pairing='student', weight=0.01
        ),
    ),
)
