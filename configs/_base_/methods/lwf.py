# LwF: knowledge distillation.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='random',
    losses=dict(kd=dict(type='KnowledgeDistillationLoss', weight=100.0)),
)
