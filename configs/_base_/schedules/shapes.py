schedule = dict(
    base=dict(lr=0.004, epochs=30, batch_size=8),
    later=dict(lr=0.001, epochs=20, batch_size=8),
)
optim_wrapper = dict(
    type='OptimWrapper',
    optimizer=dict(type='AdamW', lr=0.004, weight_decay=1e-4),
)
