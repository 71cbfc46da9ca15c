"""Real Runners of MMEngine on synthetic data, on both package lines."""

from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.runner import Runner

from mmseg_rbc.engine import step_config

REPO = Path(__file__).parents[1]


def make_config(root: str, work_dir: Path, step: int, iters: int) -> Config:
    """A stock EncoderDecoder with a small network on continual data."""
    cfg = Config.fromfile(REPO / 'configs/_base_/datasets/continual_shapes.py')
    cfg.continual.update(task='15-5', data_root=root)
    if step > 0:
        pipeline = cfg.train_dataloader.dataset.pipeline
        pipeline.insert(-1, dict(type='NewClassErase'))
    cfg.train_dataloader.batch_size = 8
    cfg.train_dataloader.sampler = dict(type='InfiniteSampler', shuffle=True)
    cfg = step_config(cfg, step)
    model = Config.fromfile(REPO / 'configs/_base_/models/fcn_tiny.py').model
    model.type = 'EncoderDecoder'
    model.decode_head.num_classes = 16 if step == 0 else 21
    cfg.model = model
    cfg.merge_from_dict(
        dict(
            default_scope='mmseg',
            work_dir=str(work_dir),
            experiment_name=f'{work_dir.name}_{step}_{iters}',
            randomness=dict(seed=0),
            optim_wrapper=dict(
                type='OptimWrapper',
                optimizer=dict(type='AdamW', lr=0.004),
            ),
            train_cfg=dict(
                type='IterBasedTrainLoop', max_iters=iters, val_interval=iters
            ),
            param_scheduler=[
                dict(type='PolyLR', power=0.9, by_epoch=False, end=iters)
            ],
            val_cfg=dict(),
            test_cfg=dict(),
            val_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
            test_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
            default_hooks=dict(
                checkpoint=dict(
                    type='CheckpointHook', by_epoch=False, interval=iters
                )
            ),
        )
    )
    return cfg


def test_small_network_learns_the_shapes(shapes_root, tmp_path):
    cfg = make_config(shapes_root, tmp_path, step=0, iters=500)
    runner = Runner.from_cfg(cfg)
    runner.train()
    metrics = runner.val_loop.run()
    assert metrics['mIoU'] > 50, 'the base classes of the shapes are learned'


def test_duplets_train_save_and_resume(shapes_root, tmp_path):
    cfg = make_config(shapes_root, tmp_path, step=1, iters=3)
    batches = []
    runner = Runner.from_cfg(cfg)
    handle = runner.model.backbone.register_forward_pre_hook(
        lambda module, args: batches.append(tuple(args[0].shape))
    )
    runner.train()
    handle.remove()
    assert (16, 3, 64, 64) in batches, '8 images and 8 erased ones'
    cfg = make_config(shapes_root, tmp_path, step=1, iters=5)
    cfg.resume = True
    runner = Runner.from_cfg(cfg)
    runner.train()
    assert runner.iter == 5
    # A safe load of what MMEngine saved, with this package imported.
    checkpoint = torch.load(tmp_path / 'iter_5.pth', weights_only=True)
    assert checkpoint['meta']['iter'] == 5


def test_worker_processes(shapes_root, tmp_path):
    cfg = make_config(shapes_root, tmp_path, step=1, iters=2)
    cfg.train_dataloader.num_workers = 2
    runner = Runner.from_cfg(cfg)
    runner.train()
    assert runner.iter == 2
