# MiB, fused with the network before each step (EWF).
method = dict(
    criterion=dict(type='UnbiasedCrossEntropy'),
    classifier_init='balanced',
    losses=dict(
        kd=dict(type='KnowledgeDistillationLoss', unbiased=True, weight=10.0)
    ),
    fusion=dict(type='EndpointsFusion'),
)
