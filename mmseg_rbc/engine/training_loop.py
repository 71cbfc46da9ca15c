"""How long a step trains: epochs, or iterations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.registry import LOOPS
from mmengine.runner import IterBasedTrainLoop

from mmseg_rbc.utils.keys import find_class

from .batch import fit_batch, images_of_step


def check_length(cfg: Config, options: Iterable[str] = ()) -> None:
    """Raise if it is said twice how long to train.

    Args:
        cfg: The config of a run.
        options: Keys that the user set on the command line, which may change
            what follows from the schedule.
    """
    schedule = cfg.get('schedule') or {}
    for name, part in schedule.items():
        given = {
            key: part[key]
            for key in ('epochs', 'iters')
            if part.get(key) is not None
        }
        if len(given) > 1:
            found = ' and '.join(f'{key}={given[key]}' for key in given)
            raise ValueError(
                f'schedule.{name} has {found}, expected one of the two: set '
                f'the other one to None, as in schedule.{name}.epochs=None '
                f'schedule.{name}.iters=20000'
            )
    by_option = any(key.split('.')[0] == 'train_cfg' for key in options)
    if schedule and 'train_cfg' in cfg and not by_option:
        raise ValueError(
            f'the config has a schedule and train_cfg={dict(cfg.train_cfg)}, '
            'but the schedule makes train_cfg and param_scheduler: write '
            'schedule = None to use those of the config, or delete train_cfg '
            'and set schedule.base.iters and schedule.later.iters'
        )


def set_length(cfg: Config, part: Mapping[str, Any], shorter: int = 1) -> None:
    """Set the loop and the learning rates of a part of the schedule.

    The learning rate of an iteration is the same in both kinds of loops.

    Args:
        cfg: The config of a step, changed in place.
        part: ``schedule.base`` or ``schedule.later``.
        shorter: Epochs are divided by this, and rounded up; iterations,
            which are optimizer steps as they are, stay.
    """
    by_epoch = part.get('iters') is None
    length = -(-part['epochs'] // shorter) if by_epoch else part['iters']
    kind, key = (
        ('EpochBasedTrainLoop', 'max_epochs')
        if by_epoch
        else ('IterBasedTrainLoop', 'max_iters')
    )
    cfg.train_cfg = {'type': kind, key: length, 'val_interval': length}
    scheduler = dict(
        type='PublishedPolyLR',
        power=0.9,
        begin=0,
        end=length,
        by_epoch=by_epoch,
    )
    if by_epoch:
        scheduler['convert_to_iter_based'] = True
    cfg.param_scheduler = [scheduler]


def counts_iterations(train_cfg: Mapping[str, Any] | None) -> bool:
    """Whether the loop of a config counts iterations."""
    if not train_cfg or 'type' not in train_cfg:
        return not (train_cfg or {}).get('by_epoch', True)
    loop = find_class(train_cfg['type'], LOOPS, 'train_cfg.type')
    return issubclass(loop, IterBasedTrainLoop)


def follow_loop(cfg: Config) -> None:
    """Let everything count iterations if the loop does, in place.

    Sampler, log and checkpoints of a config count epochs by default. Ten
    checkpoints are written, unless the config says ``by_epoch=False`` itself.
    """
    train_cfg = cfg.get('train_cfg')
    if not train_cfg or not counts_iterations(train_cfg):
        return
    cfg.log_processor = dict(cfg.get('log_processor') or {}, by_epoch=False)
    hooks = cfg.setdefault('default_hooks', ConfigDict())
    logger = hooks.setdefault('logger', ConfigDict(type='LoggerHook'))
    if logger:
        logger.log_metric_by_epoch = False
    checkpoint = ConfigDict(type='CheckpointHook')
    checkpoint = hooks.setdefault('checkpoint', checkpoint)
    if checkpoint and checkpoint.get('by_epoch', True):
        interval = max(1, train_cfg.max_iters // 10)
        checkpoint.update(by_epoch=False, interval=interval)
    sampler = cfg.train_dataloader.sampler
    if sampler.type == 'DefaultSampler':
        # MMEngine would rest for two seconds after every epoch, and load all
        # the data again that a resumed run has seen.
        shuffle = sampler.get('shuffle', True)
        cfg.train_dataloader.sampler = dict(
            type='InfiniteSampler', shuffle=shuffle
        )


def num_iterations(cfg: Config, num_images: int) -> int:
    """Return how many iterations a step takes.

    Args:
        cfg: The complete config of the step.
        num_images: Its training images.
    """
    if counts_iterations(cfg.train_cfg):
        return cfg.train_cfg.max_iters
    batch = images_of_step(cfg.train_dataloader)
    return cfg.train_cfg.get('max_epochs', 0) * max(num_images // batch, 1)


def fit_to_data(configs: list[Config], images: list[int], step: int) -> None:
    """Shrink the batch of a step with few images, and count what is left.

    Args:
        configs: The complete config of every step.
        images: The number of training images of every step.
        step: The step to change, in place.
    """
    cfg, loader = configs[step], configs[step].train_dataloader
    fit_batch(loader, images[step], step)
    if cfg.log_processor.type == 'ContinualLogProcessor':
        cfg.log_processor.later_iters = sum(
            num_iterations(later, count)
            for later, count in zip(configs[step + 1 :], images[step + 1 :])
        )
