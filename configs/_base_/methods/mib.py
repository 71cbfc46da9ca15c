# MiB: background may be any old class, and for the teacher any new one.
method = dict(
    criterion=dict(type='UnbiasedCrossEntropy'),
    classifier_init='balanced',
    losses=dict(
        kd=dict(type='KnowledgeDistillationLoss', unbiased=True, weight=10.0)
    ),
)
