# RW: Fisher information and path.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='random',
    importance=dict(type='RW', weight=100.0),
)
