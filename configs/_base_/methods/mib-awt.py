# MiB with the warm start of AWT.
method = dict(
    criterion=dict(type='UnbiasedCrossEntropy'),
    classifier_init='attributed',
    losses=dict(
        kd=dict(type='KnowledgeDistillationLoss', unbiased=True, weight=10.0)
    ),
)
