"""The parts of a config that are ours, and a check that nothing is ignored.

A key that no one reads would train with a default, without a word. So every
key of ``continual``, ``method`` and ``schedule`` must be known, and so must
the arguments of every part of a method. At the top a config may define
variables of its own; one whose name is almost that of a key must be named in
``custom_keys``.
"""

from __future__ import annotations

import os.path as osp
from collections.abc import Iterable, Mapping
from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry
from mmengine.utils import import_modules_from_strings
from mmseg.registry import DATASETS, MODELS, TASK_UTILS, TRANSFORMS

from mmseg_rbc.datasets import ContinualMixin
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.utils.keys import (
    arguments,
    check_arguments,
    check_keys,
    find_class,
    is_misspelled,
    nearest,
)

from .config_kinds import check_kinds
from .runner_keys import top_keys

# What a config of a run has and a config of a step has not.
PARTS = ('continual', 'crop_size', 'method', 'recipe', 'schedule')

# Where each part of a method is registered; the others are plain values.
METHOD_PARTS: dict[str, Registry | None] = dict(
    base_criterion=MODELS,
    criterion=MODELS,
    classifier_init=None,
    new_share=None,
    row_weights=None,
    pseudo_labeler=MODELS,
    balance=None,
    full_view_weight=None,
    losses=None,
    erase=TRANSFORMS,
    importance=TASK_UTILS,
    fusion=TASK_UTILS,
    memory=None,
    joint=None,
)
MEMORY_KEYS = ('size', 'share')
SCHEDULE_KEYS = ('lr', 'epochs', 'iters', 'batch_size')
# What keeps later steps healthy, see docs/tuning.md.
RECIPE_KEYS = (
    'freeze_norm',
    'frozen',
    'relative_pod',
    'relative_consistency',
    'equal_steps',
    'new_share',
    'new_rows_lr',
    'warmup_iters',
    'clip_norm',
)


def load_config(path: str, options: Mapping[str, Any]) -> Config:
    """Load a config and merge what the user set on the command line."""
    if not osp.isfile(path):
        raise FileNotFoundError(
            f'config {path} does not exist: pass a file of configs/, or one '
            'of your own'
        )
    cfg = Config.fromfile(path)
    merge_options(cfg, options)
    import_custom(cfg)
    return cfg


def merge_options(cfg: Config, options: Mapping[str, Any]) -> None:
    """Merge what the user set on the command line into a config."""
    for key, value in options.items():
        try:
            cfg.merge_from_dict({key: value})
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f'{key}={value} does not fit the config ({error}): check the '
                'place of the option'
            ) from None


def import_custom(cfg: Config) -> None:
    """Import ``custom_imports``: options may name further modules."""
    wanted = cfg.get('custom_imports')
    if not wanted:
        return
    try:
        import_modules_from_strings(**wanted)
    except (ImportError, TypeError) as error:
        raise ValueError(
            f'custom_imports is {wanted!r}, which cannot be imported '
            f'({error}): expected dict(imports=["module"]) of modules that '
            'Python finds'
        ) from error


def check_parts(cfg: Config, options: Iterable[str] = ()) -> None:
    """Raise for a missing task, and for keys that nothing reads.

    Args:
        cfg: The config of a run.
        options: Keys that the user set on the command line.
    """
    _check_top(cfg, options)
    check_kinds(cfg)
    continual = cfg.get('continual') or {}
    if 'task' not in continual:
        raise ValueError(
            f'{cfg.filename} has no continual.task: write continual = '
            'dict(task="15-1", setting="overlapped"), or pass --cfg-options '
            'continual.task=15-1'
        )
    known = arguments(_dataset_class(cfg))
    if known is not None:
        # The step config sets the first two; training and evaluation have
        # pipelines of their own.
        others = {'step', 'test_mode', 'pipeline'}
        check_keys(continual, known - others, 'continual')
    _check_method(cfg.get('method') or {})
    check_keys(cfg.get('recipe') or {}, RECIPE_KEYS, 'recipe')
    schedule = cfg.get('schedule') or {}
    check_keys(schedule, ('base', 'later'), 'schedule')
    for name, part in schedule.items():
        check_keys(part, SCHEDULE_KEYS, f'schedule.{name}')


def _check_top(cfg: Config, options: Iterable[str]) -> None:
    """Raise for keys that are almost known, and for unknown options.

    An option that is a variable of the config would have no effect: what the
    config made of it is made.
    """
    known = top_keys() | set(PARTS)
    wrong = [key for key in cfg if is_misspelled(key, known)]
    tops = [key.split('.')[0] for key in options]
    for key in (*wrong, *tops):
        if key not in known and key not in (cfg.get('custom_keys') or ()):
            raise ValueError(
                f'{key} is unknown at the top of the config'
                f'{nearest(key, known)}; a variable of your own with such a '
                f'name needs custom_keys = [{key!r}] in the config'
            )


def _check_method(method: dict[str, Any]) -> None:
    check_keys(method, METHOD_PARTS, 'method')
    for key, part in method.items():
        registry = METHOD_PARTS[key]
        if registry is not None and part:
            check_arguments(part, registry, f'method.{key}')
    check_keys(method.get('memory') or {}, MEMORY_KEYS, 'method.memory')
    losses = method.get('losses') or {}
    if not isinstance(losses, dict):
        raise ValueError(
            f'method.losses is {losses!r}, expected a dict of losses by name'
        )
    for name, loss in losses.items():
        check_arguments(loss, MODELS, f'method.losses.{name}')


def method_types(method: Mapping[str, Any]) -> str:
    """Return the types of the parts of a method, in words."""
    losses = (method.get('losses') or {}).values()
    dicts = [p for p in (*method.values(), *losses) if isinstance(p, dict)]
    types = sorted(part['type'] for part in dicts if 'type' in part)
    switches = [key for key, part in method.items() if part is True]
    if method.get('memory'):
        switches.append('memory')
    return ', '.join([*types, *switches])


def config_classes(cfg: Config) -> list[str]:
    """Return all class names of the training data, background first."""
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    found = cfg.continual.get('metainfo', dataset.get('metainfo'))
    return _dataset_class(cfg).continual_classes(found)


def continual_type(kind: str, where: str) -> str:
    """Return the type of a data set; of a stock one, what derives from it.

    Args:
        kind: The name of the class.
        where: Its place in the config.
    """
    cls = find_class(kind, DATASETS, where)
    if issubclass(cls, ContinualMixin):
        return kind
    for name, ours in DATASETS.module_dict.items():
        if getattr(ours, '__bases__', ()) == (ContinualMixin, cls):
            return name
    raise ValueError(
        f'{where}={kind!r} is not continual: use "ContinualDataset", or a '
        'class derived from ContinualMixin'
    )


def _dataset_class(cfg: Config) -> type[ContinualMixin]:
    """Return the class of the training data."""
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    where = 'train_dataloader.dataset.type'
    return find_class(continual_type(dataset.type, where), DATASETS, where)
