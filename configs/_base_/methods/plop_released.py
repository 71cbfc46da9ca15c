_base_ = './plop.py'
method = dict(pseudo_labeler=dict(estimator='released'))
