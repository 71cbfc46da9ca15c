# LwF-MC: a binary classifier for each class, also in step 0.
method = dict(
    base_criterion=dict(type='OneVsRestCrossEntropy'),
    criterion=dict(type='OneVsRestCrossEntropy'),
    classifier_init='random',
    losses=dict(kd=dict(type='SigmoidDistillationLoss', weight=10.0)),
)
