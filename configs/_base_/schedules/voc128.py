# Short: one sequence of small images takes minutes on two cores.
schedule = dict(
    base=dict(lr=0.02, epochs=6, batch_size=24),
    later=dict(lr=0.0007, epochs=10, batch_size=24),
)
# Its lr is that of the schedule.
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='SGD', momentum=0.9, nesterov=True, weight_decay=1e-4),
)
