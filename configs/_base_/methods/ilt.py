# ILT: LwF, and the last backbone feature stays the same.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='random',
    losses=dict(
        kd=dict(type='KnowledgeDistillationLoss', weight=100.0),
        feature=dict(type='FeatureDistillationLoss', weight=100.0),
    ),
)
