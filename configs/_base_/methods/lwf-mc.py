# LwF-MC: a binary classifier for each class, also in step 0.
criterion = dict(type='OneVsRestCrossEntropy')
method = dict(
    base_criterion=criterion,
    criterion=criterion,
    classifier_init='random',
    losses=dict(kd=dict(type='SigmoidDistillationLoss', weight=10.0)),
)
