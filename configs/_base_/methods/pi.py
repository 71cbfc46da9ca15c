# PI: path integral.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='random',
    importance=dict(type='PI', weight=100.0),
)
