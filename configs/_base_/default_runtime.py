default_scope = 'mmseg'
custom_imports = dict(imports=['mmseg_rbc'])
env_cfg = dict(
    cudnn_benchmark=True,
    mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0),
    dist_cfg=dict(backend='nccl'),
)
randomness = dict(seed=0)
visualizer = dict(
    type='SegLocalVisualizer', vis_backends=[dict(type='LocalVisBackend')]
)
log_processor = dict(by_epoch=True)
log_level = 'INFO'
load_from = None
resume = False
default_hooks = dict(
    timer=dict(type='IterTimerHook'),
    logger=dict(type='LoggerHook', interval=50),
    param_scheduler=dict(type='ParamSchedulerHook'),
    # Two: MMEngine deletes an old one before it writes the new one.
    checkpoint=dict(type='CheckpointHook', interval=1, max_keep_ckpts=2),
    sampler_seed=dict(type='DistSamplerSeedHook'),
)
custom_hooks = [
    dict(type='TorchSeedHook'),
    dict(type='InvalidLossHook'),
    dict(type='PseudoThresholdHook'),
    dict(type='GradientShareHook'),
]
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
val_evaluator = dict(type='ContinualIoUMetric')
test_evaluator = val_evaluator
