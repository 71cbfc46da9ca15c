"""The parts of a config that are ours, and a check that nothing is ignored.

A key that no one reads would train with a default, without a word. So every
key of ``continual``, ``method`` and ``schedule`` must be known, and so must
the arguments of every part of a method.
"""

from __future__ import annotations

from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry
from mmseg.registry import DATASETS, MODELS, TASK_UTILS, TRANSFORMS

from mmseg_rbc.datasets import ContinualMixin
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.utils.keys import (
    arguments,
    check_arguments,
    check_keys,
    find_class,
)

# What a config of a run has and a config of a step has not.
PARTS = ('continual', 'crop_size', 'method', 'recipe', 'schedule')

# Where each part of a method is registered; the others are plain values.
METHOD_PARTS: dict[str, Registry | None] = dict(
    base_criterion=MODELS,
    criterion=MODELS,
    classifier_init=None,
    new_share=None,
    pseudo_labeler=MODELS,
    balance=None,
    full_view_weight=None,
    losses=None,
    erase=TRANSFORMS,
    importance=TASK_UTILS,
    joint=None,
)
SCHEDULE_KEYS = ('lr', 'epochs', 'iters', 'batch_size')
# What keeps later steps healthy, see docs/tuning.md.
RECIPE_KEYS = (
    'freeze_norm',
    'relative_pod',
    'new_share',
    'new_rows_lr',
    'warmup_iters',
    'clip_norm',
)


def check_parts(cfg: Config) -> None:
    """Raise for a missing task, and for keys that nothing reads."""
    continual = cfg.get('continual') or {}
    if 'task' not in continual:
        raise ValueError(
            f'{cfg.filename} has no continual.task: write continual = '
            'dict(task="15-1", setting="overlapped"), or pass --cfg-options '
            'continual.task=15-1'
        )
    known = arguments(_dataset_class(cfg))
    if known is not None:
        # The step config sets these two.
        check_keys(continual, known - {'step', 'test_mode'}, 'continual')
    _check_method(cfg.get('method') or {})
    check_keys(cfg.get('recipe') or {}, RECIPE_KEYS, 'recipe')
    schedule = cfg.get('schedule') or {}
    check_keys(schedule, ('base', 'later'), 'schedule')
    for name, part in schedule.items():
        check_keys(part, SCHEDULE_KEYS, f'schedule.{name}')


def _check_method(method: dict[str, Any]) -> None:
    check_keys(method, METHOD_PARTS, 'method')
    for key, part in method.items():
        registry = METHOD_PARTS[key]
        if registry is not None and part:
            check_arguments(part, registry, f'method.{key}')
    for name, loss in (method.get('losses') or {}).items():
        check_arguments(loss, MODELS, f'method.losses.{name}')


def config_classes(cfg: Config) -> list[str]:
    """Return all class names of the training data, background first."""
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    found = cfg.continual.get('metainfo', dataset.get('metainfo'))
    return _dataset_class(cfg).continual_classes(found)


def _dataset_class(cfg: Config) -> type[ContinualMixin]:
    """Return the class of the training data."""
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    where = 'train_dataloader.dataset.type'
    cls = find_class(dataset.type, DATASETS, where)
    if not issubclass(cls, ContinualMixin):
        raise ValueError(
            f'{where}={dataset.type!r} is not continual: use '
            '"ContinualDataset", or a class derived from ContinualMixin'
        )
    return cls
