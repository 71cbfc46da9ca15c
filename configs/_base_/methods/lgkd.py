# LGKD: PLOP, and the teacher's background is the new class that is there.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='balanced',
    pseudo_labeler=dict(type='EntropyPseudoLabeler', estimator='published'),
    losses=dict(
        pod=dict(type='LocalPODLoss', weight=0.01, logits_weight=0.0005),
        label_guided=dict(
            type='LabelGuidedDistillationLoss', old_weight=10.0, new_weight=2.0
        ),
    ),
)
