# Short: one sequence of small images takes minutes on two cores.
_base_ = './voc.py'
schedule = dict(base=dict(lr=0.02, epochs=6), later=dict(lr=0.005, epochs=6))
