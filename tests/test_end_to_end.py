"""Real Runners of MMEngine on synthetic data, on both package lines."""

from pathlib import Path

import pytest
import torch
from helpers import CONFIGS, Stop, assert_equal_weights, weights
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mmseg_rbc.engine import step_config

MEAN = torch.tensor([123.675, 116.28, 103.53])
STD = torch.tensor([58.395, 57.12, 57.375])


def make_config(root: str, work_dir: Path, step: int, epochs: int) -> Config:
    """A stock EncoderDecoder with a small network on continual data."""
    cfg = Config.fromfile(CONFIGS / '_base_/datasets/continual_shapes.py')
    cfg.continual.update(task='15-5', data_root=root)
    if step > 0:
        pipeline = cfg.train_dataloader.dataset.pipeline
        erase = dict(type='NewClassErase', erase_void=True)
        pipeline.insert(-1, erase)
    cfg.train_dataloader.batch_size = 8
    size = cfg.crop_size
    cfg = step_config(cfg, step)
    model = Config.fromfile(CONFIGS / '_base_/models/fcn_tiny.py').model
    model.type = 'EncoderDecoder'
    model.decode_head.num_classes = 16 if step == 0 else 21
    model.data_preprocessor.size = size
    cfg.model = model
    cfg.merge_from_dict(
        dict(
            default_scope='mmseg',
            work_dir=str(work_dir),
            experiment_name=f'{work_dir.parent.name}_{work_dir.name}',
            randomness=dict(seed=0),
            optim_wrapper=dict(
                type='OptimWrapper',
                optimizer=dict(type='AdamW', lr=0.004),
            ),
            train_cfg=dict(
                type='EpochBasedTrainLoop',
                max_epochs=epochs,
                val_interval=epochs,
            ),
            param_scheduler=[
                dict(
                    type='PolyLR',
                    power=0.9,
                    end=epochs,
                    convert_to_iter_based=True,
                )
            ],
            val_cfg=dict(),
            test_cfg=dict(),
            val_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
            test_evaluator=dict(type='IoUMetric', iou_metrics=['mIoU']),
            custom_hooks=[dict(type='TorchSeedHook')],
            default_hooks=dict(
                checkpoint=dict(type='CheckpointHook', interval=1),
                sampler_seed=dict(type='DistSamplerSeedHook'),
            ),
        )
    )
    return cfg


def test_small_network_learns_the_shapes(shapes_root, tmp_path):
    cfg = make_config(shapes_root, tmp_path, step=0, epochs=30)
    cfg.default_hooks.checkpoint.interval = 30
    runner = Runner.from_cfg(cfg)
    runner.train()
    metrics = runner.val_loop.run()
    assert metrics['mIoU'] > 50, 'the base classes of the shapes are learned'


class Watch(Hook):
    """Keep what the data loader gives and what the network sees."""

    def __init__(self, runner: Runner) -> None:
        self.batches: list[dict] = []
        self.seen: list[torch.Tensor] = []
        runner.register_hook(self)
        runner.model.backbone.register_forward_pre_hook(
            lambda module, args: self.seen.append(args[0].clone())
        )

    def before_train_iter(self, runner, batch_idx, data_batch=None) -> None:
        self.batches.append(data_batch)


@pytest.fixture(scope='module')
def uninterrupted(tiny_root, tmp_path_factory) -> tuple[Path, Watch]:
    """Train step 1 for two epochs of two batches."""
    work_dir = tmp_path_factory.mktemp('uninterrupted')
    runner = Runner.from_cfg(make_config(tiny_root, work_dir, 1, epochs=2))
    watch = Watch(runner)
    runner.train()
    assert len(watch.batches) == 4
    return work_dir, watch


def test_erased_views_are_in_the_batch(uninterrupted):
    """8 images and 8 without their new classes, pixel by pixel."""
    _, watch = uninterrupted
    for batch, seen in zip(watch.batches, watch.seen):
        full, erased = seen.chunk(2)
        images = torch.stack(batch['inputs'][0]).float()
        mean, std = (v[:, None, None] for v in (MEAN, STD))
        expected = (images.flip(1) - mean) / std
        torch.testing.assert_close(full, expected)
        samples = batch['data_samples'][0]
        labels = torch.stack([s.gt_sem_seg.data for s in samples])
        is_new = labels >= 16
        assert 0 < is_new.float().mean() < 0.5
        black = (-mean / std).expand_as(expected)
        torch.testing.assert_close(
            erased, torch.where(is_new, black, expected)
        )
        assert not torch.equal(full, erased)


def test_resumed_run_equals_an_uninterrupted_one(
    uninterrupted, tiny_root, tmp_path
):
    """Stopped in the second epoch, after the first checkpoint."""
    cfg = make_config(tiny_root, tmp_path / 'run', step=1, epochs=2)
    cfg.custom_hooks.append(dict(type='StopHook', iteration=3))
    with pytest.raises(Stop):
        Runner.from_cfg(cfg).train()
    assert not (tmp_path / 'run/epoch_2.pth').exists()
    cfg = make_config(tiny_root, tmp_path / 'run', step=1, epochs=2)
    cfg.experiment_name += '_resumed'
    cfg.resume = True
    runner = Runner.from_cfg(cfg)
    watch = Watch(runner)
    runner.train()
    assert len(watch.batches) == 2 and runner.iter == 4
    work_dir, whole = uninterrupted
    for found, expected in zip(watch.seen[:2], whole.seen[2:4]):
        assert torch.equal(found, expected), 'the same crops'
    # Safe loads of what MMEngine saved, with this package imported.
    assert_equal_weights(
        weights(tmp_path / 'run/epoch_2.pth'),
        weights(work_dir / 'epoch_2.pth'),
    )


def test_worker_processes_give_the_same_batches(
    uninterrupted, tiny_root, tmp_path
):
    cfg = make_config(tiny_root, tmp_path / 'run', step=1, epochs=2)
    cfg.train_dataloader.num_workers = 2
    cfg.train_dataloader.persistent_workers = True
    runner = Runner.from_cfg(cfg)
    watch = Watch(runner)
    runner.train()
    # Workers that the garbage collector finds (a Runner is full of cycles)
    # get no message to stop, and end only when they look up after 5 s.
    runner.train_dataloader._iterator = None
    work_dir, whole = uninterrupted
    for found, expected in zip(watch.seen[:4], whole.seen[:4]):
        assert torch.equal(found, expected)
    assert_equal_weights(
        weights(tmp_path / 'run/epoch_2.pth'),
        weights(work_dir / 'epoch_2.pth'),
    )
