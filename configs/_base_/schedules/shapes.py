# Synthetic shapes: minutes on two cores.
schedule = dict(
    base=dict(lr=0.05, epochs=60, batch_size=8),
    later=dict(lr=0.01, epochs=90, batch_size=8),
)
# Its lr is that of the schedule.
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='SGD', momentum=0.9, nesterov=True, weight_decay=1e-4),
)
