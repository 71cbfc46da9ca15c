# Ablation: PLOP on duplets.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='median'),
    erase=dict(type='NewClassErase'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.01, logits_weight=0.0005),
    ),
)
