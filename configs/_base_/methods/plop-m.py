# PLOP with a memory: half of each batch is of earlier steps.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='published'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.01, logits_weight=0.0005),
    ),
    memory=dict(size=100),
)
