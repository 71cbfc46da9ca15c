# LGKD, with PLOP's weights for ADE20K.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='published'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.001, logits_weight=0.00001),
        label_guided=dict(
            type='LabelGuidedDistillationLoss', old_weight=10.0, new_weight=2.0
        ),
    ),
)
