# Cityscapes: lr, epochs and global batch of step 0 and of all later steps, as
# in the scripts that were published with AWT.
schedule = dict(
    base=dict(lr=0.02, epochs=30, batch_size=24),
    later=dict(lr=0.001, epochs=30, batch_size=24),
)
# Its lr is that of the schedule.
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='SGD', momentum=0.9, nesterov=True, weight_decay=1e-4),
)
