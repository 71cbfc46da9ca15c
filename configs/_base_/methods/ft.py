# Fine-tuning: nothing against forgetting.
method = dict(
    criterion=dict(type='PixelCrossEntropy'),
    classifier_init='random',
)
