# EWC: running Fisher information.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='random',
    importance=dict(type='EWC', weight=100.0),
)
