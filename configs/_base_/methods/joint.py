# Joint: all classes at once, with all labels; the upper bound.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    joint=True,
)
