"""Check the values of a config that decide how a run trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mmseg_rbc.utils.keys import defaults, find_class
from mmseg_rbc.utils.values import check_number, check_switch

from .config_parts import METHOD_PARTS
from .runner_keys import PHASES

# What numpy takes.
LARGEST_SEED = 2**32 - 1
SCHEDULE_EXAMPLE = 'dict(lr=0.01, epochs=30, batch_size=24)'


def check_values(cfg: Config, num_steps: int) -> None:
    """Raise for a value that cannot be trained with, or makes no sense.

    Args:
        cfg: The config of a run, whose keys are known.
        num_steps: Steps of its task.
    """
    if 'crop_size' in cfg:
        _check_crop(cfg.crop_size)
    # None where a config has a train_cfg of its own instead.
    if cfg.get('schedule') or ('schedule' in cfg and not cfg.get('train_cfg')):
        _check_schedule(cfg.schedule, num_steps)
    seed = (cfg.get('randomness') or {}).get('seed', 0)
    check_number(seed, 'randomness.seed', 0, LARGEST_SEED, whole=True)
    _check_recipe(cfg.get('recipe') or {})
    _check_method(cfg.get('method') or {})
    for phase in PHASES:
        where = f'{phase}_dataloader'
        _check_loader(cfg.get(where) or {}, where)
    for name, key in (
        ('checkpoint', 'interval'),
        ('checkpoint', 'max_keep_ckpts'),
        ('logger', 'interval'),
    ):
        hook = (cfg.get('default_hooks') or {}).get(name)
        if isinstance(hook, dict) and key in hook:
            where = f'default_hooks.{name}.{key}'
            check_number(hook[key], where, -1, whole=True)
    _check_switches(cfg)
    checkpoint = (cfg.get('default_hooks') or {}).get('checkpoint') or {}
    for key in ('out_dir', 'filename_tmpl'):
        if isinstance(checkpoint, dict) and checkpoint.get(key):
            raise ValueError(
                f'default_hooks.checkpoint.{key} is {checkpoint[key]!r}, but '
                '--resume looks for epoch_<n>.pth or iter_<n>.pth in the '
                'folder of the step: leave it out, and pass --work-dir'
            )
    for key, option in (('load_from', '--init-from'), ('resume', '--resume')):
        if cfg.get(key):
            raise ValueError(
                f'{key} is {cfg[key]!r}, but each step sets it: leave it out '
                f'and pass {option}, or set init_cfg of the backbone for '
                'weights to begin with'
            )


def _check_switches(cfg: Config) -> None:
    """Check what MMEngine would take for True, and threads."""
    for path in (
        'randomness.deterministic',
        'randomness.diff_rank_seed',
        'env_cfg.cudnn_benchmark',
    ):
        part, key = path.split('.')
        value = (cfg.get(part) or {}).get(key)
        if value is not None:
            check_switch(value, path)
    processes = (cfg.get('env_cfg') or {}).get('mp_cfg') or {}
    threads = processes.get('opencv_num_threads')
    if threads is not None:
        where = 'env_cfg.mp_cfg.opencv_num_threads'
        check_number(threads, where, 0, whole=True)


def _check_crop(size: Any) -> None:
    sides = list(size) if isinstance(size, (list, tuple)) else [size, size]
    is_side = [type(side) is int and side > 0 for side in sides]
    if len(sides) != 2 or not all(is_side):
        raise ValueError(
            f'crop_size is {size!r}, expected one side of at least 1 pixel, '
            'such as 512, or two, (height, width)'
        )


def _check_schedule(schedule: Any, num_steps: int) -> None:
    names = ['base', 'later'] if num_steps > 1 else ['base']
    for name in names:
        part: Any = (schedule or {}).get(name)
        where = f'schedule.{name}'
        given = {key for key, v in (part or {}).items() if v is not None}
        needed = [key for key in ('lr', 'batch_size') if key not in given]
        if not given & {'epochs', 'iters'}:
            needed.append('epochs or iters')
        if needed:
            raise ValueError(
                f'{where} is {part!r}, which lacks {", ".join(needed)}: '
                f'expected something like {SCHEDULE_EXAMPLE}'
            )
        check_number(part['lr'], f'{where}.lr', 0, above=True)
        for key in ('epochs', 'iters', 'batch_size'):
            if part.get(key) is not None:
                check_number(part[key], f'{where}.{key}', 1, whole=True)


def _check_recipe(recipe: Mapping[str, Any]) -> None:
    """Check the switches that are on; None, False and 0 switch off."""
    for key, value in recipe.items():
        where = f'recipe.{key}'
        if not value:
            continue
        if key in ('freeze_norm', 'equal_steps'):
            check_switch(value, where)
        elif key == 'frozen':
            _check_names(value, where)
        else:
            check_number(value, where, 0, whole=key == 'warmup_iters')


def _check_names(value: Any, where: str) -> None:
    is_list = isinstance(value, (list, tuple))
    if not is_list or not all(isinstance(name, str) for name in value):
        raise ValueError(
            f'{where} is {value!r}, expected a list of names, such as '
            "['backbone']"
        )


def _check_method(method: Mapping[str, Any]) -> None:
    for key in ('balance', 'joint'):
        if method.get(key) is not None:
            check_switch(method[key], f'method.{key}')
    if method.get('full_view_weight') is not None:
        where = 'method.full_view_weight'
        check_number(method['full_view_weight'], where, 0, above=True)
    memory = method.get('memory')
    if memory:
        size, share = memory.get('size'), memory.get('share', 0.5)
        check_number(size, 'method.memory.size', 1, whole=True)
        check_number(share, 'method.memory.share', 0, 0.9, above=True)
    for key, registry in METHOD_PARTS.items():
        if registry is not None and method.get(key):
            _check_part(method[key], registry, f'method.{key}')
    for name, loss in (method.get('losses') or {}).items():
        registry = METHOD_PARTS['criterion']
        _check_part(loss, registry, f'method.losses.{name}')


def _check_part(part: Mapping[str, Any], registry: Any, where: str) -> None:
    """Check numbers and switches, which are so by default."""
    usual = defaults(find_class(part['type'], registry, where))
    for key, value in part.items():
        if isinstance(usual.get(key), bool):
            check_switch(value, f'{where}.{key}')
        elif key.endswith('weight'):
            check_number(value, f'{where}.{key}', 0)
        elif isinstance(usual.get(key), (int, float)):
            check_number(value, f'{where}.{key}')


def _check_loader(loader: Mapping[str, Any], where: str) -> None:
    workers = loader.get('num_workers', 0)
    check_number(workers, f'{where}.num_workers', 0, whole=True)
    if 'batch_size' in loader:
        check_number(
            loader['batch_size'], f'{where}.batch_size', 1, whole=True
        )
    if loader.get('timeout') is not None:
        check_number(loader['timeout'], f'{where}.timeout', 0)
    ahead = loader.get('prefetch_factor')
    if ahead is not None:
        check_number(ahead, f'{where}.prefetch_factor', 1, whole=True)
    if ahead is not None and workers == 0:
        raise ValueError(
            f'{where}.prefetch_factor is {ahead}, but {where}.num_workers is '
            '0: leave it out, or set num_workers to at least 1'
        )
    if loader.get('persistent_workers') and workers == 0:
        raise ValueError(
            f'{where}.persistent_workers is True, but {where}.num_workers is '
            f'0: set {where}.persistent_workers=False too, or num_workers to '
            'at least 1'
        )
