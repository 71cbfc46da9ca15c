"""The keys of a config that MMEngine reads, and a check of their names.

MMEngine ignores a key that it does not know, at the top of a config and in
some of its parts, and trains with the default; in others it fails when the
part is built, which may be after hours.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry
from mmengine.runner import Runner, get_priority
from mmengine.utils.dl_utils import set_multi_processing
from mmseg.registry import (
    DATA_SAMPLERS,
    DATASETS,
    EVALUATOR,
    HOOKS,
    LOG_PROCESSORS,
    LOOPS,
    METRICS,
    MODELS,
    OPTIM_WRAPPERS,
    OPTIMIZERS,
    PARAM_SCHEDULERS,
    TRANSFORMS,
    VISBACKENDS,
    VISUALIZERS,
    WEIGHT_INITIALIZERS,
)
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader

from mmseg_rbc.utils.keys import (
    arguments,
    check_arguments,
    check_defaults,
    check_keys,
    is_misspelled,
)
from mmseg_rbc.utils.values import check_number

PHASES = ('train', 'val', 'test')
# Read by the Runner from its config, by MMSeg's tools and by ours.
OTHER_KEYS = (
    'activation_checkpointing',
    'compile',
    'custom_imports',
    'custom_keys',
    'efficient_conv_bn_eval',
    'find_unused_parameters',
    'init_from',
    'model_wrapper_cfg',
    'runner_type',
    'sync_bn',
    'test_pipeline',
    'train_pipeline',
    'tta_model',
    'tta_pipeline',
    'val_pipeline',
)
DEFAULT_HOOKS = (
    'checkpoint',
    'logger',
    'param_scheduler',
    'runtime_info',
    'sampler_seed',
    'timer',
    'visualization',
)
ENVIRONMENT = ('cudnn_benchmark', 'dist_cfg', 'mp_cfg', 'resource_limit')
PARAMWISE = (
    'bias_decay_mult',
    'bias_lr_mult',
    'bypass_duplicate',
    'custom_keys',
    'dcn_offset_lr_mult',
    'dwconv_decay_mult',
    'flat_decay_mult',
    'norm_decay_mult',
)
# Of an entry of custom_keys.
MULTIPLES = ('lr_mult', 'decay_mult')
CONVERTED = ('convert_to_iter_based',)


def top_keys() -> set[str]:
    """Return the keys at the top of a config that are read."""
    return {*_parameters(Runner.__init__), *OTHER_KEYS} - {'cfg'}


def check_runner_keys(cfg: Config) -> None:
    """Raise for keys in the parts of a config that MMEngine does not read.

    Args:
        cfg: The complete config of a step.
    """
    for key, known in (
        ('randomness', _parameters(Runner.set_randomness)),
        ('env_cfg', ENVIRONMENT),
        ('env_cfg.mp_cfg', _parameters(set_multi_processing)),
    ):
        check_keys(_get(cfg, key), known, key)
    _check_hooks(cfg)
    _check_optimizer(cfg.get('optim_wrapper') or {})
    for phase in PHASES:
        _check_loader(cfg.get(f'{phase}_dataloader'), f'{phase}_dataloader')
        _check_loop(cfg.get(f'{phase}_cfg'), f'{phase}_cfg')
        if phase != 'train':
            where = f'{phase}_evaluator'
            _check_evaluator(cfg.get(where), where)
    if cfg.get('model'):
        _check_model(cfg.model)
    _check_list(cfg, 'param_scheduler', PARAM_SCHEDULERS, CONVERTED)
    visualizer = cfg.get('visualizer')
    if visualizer:
        check_arguments(visualizer, VISUALIZERS, 'visualizer')
        _check_list(visualizer, 'vis_backends', VISBACKENDS)
    check_arguments(
        cfg.get('log_processor') or {},
        LOG_PROCESSORS,
        'log_processor',
        default='LogProcessor',
    )


def _check_hooks(cfg: Config) -> None:
    hooks = cfg.get('default_hooks') or {}
    for name, hook in hooks.items():
        where = f'default_hooks.{name}'
        is_own = name not in DEFAULT_HOOKS and 'type' in (hook or {})
        # MMEngine takes any name: the default would run beside it.
        if not is_own or is_misspelled(name, DEFAULT_HOOKS):
            check_keys([name], DEFAULT_HOOKS, 'default_hooks')
        if hook is not None:
            check_arguments(hook, HOOKS, where, ('priority',))
            _check_priority(hook, where)
    _check_list(cfg, 'custom_hooks', HOOKS, ('priority',))
    for i, hook in enumerate(cfg.get('custom_hooks') or []):
        _check_priority(hook, f'custom_hooks.{i}')


def _check_priority(hook: Any, where: str) -> None:
    found = hook.get('priority') if isinstance(hook, dict) else None
    try:
        get_priority(0 if found is None else found)
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f'{where}.priority is {found!r}, expected a whole number from 0 '
            'to 100, or a name such as "NORMAL"'
        ) from None


def _check_optimizer(wrapper: Mapping[str, Any]) -> None:
    if not wrapper:
        return
    more = ('constructor', 'paramwise_cfg')
    where = 'optim_wrapper'
    check_arguments(wrapper, OPTIM_WRAPPERS, where, more, 'OptimWrapper')
    optimizer = wrapper.get('optimizer')
    cls = check_arguments(optimizer, OPTIMIZERS, f'{where}.optimizer')
    if not wrapper.get('constructor'):
        where = 'optim_wrapper.paramwise_cfg'
        paramwise = wrapper.get('paramwise_cfg') or {}
        check_keys(paramwise, PARAMWISE, where)
        # Of part of a network; what is no multiple is an option of its group.
        known = {*MULTIPLES, *(arguments(cls) or ())}
        parts = paramwise.get('custom_keys') or {}
        for name in parts if isinstance(parts, dict) else ():
            check_keys(parts[name], known, f'{where}.custom_keys.{name}')
    if wrapper.get('clip_grad'):
        _check_clipping(wrapper['clip_grad'], 'optim_wrapper.clip_grad')


def _check_clipping(clip: Any, where: str) -> None:
    by_value = isinstance(clip, dict) and clip.get('type') == 'value'
    known = _parameters(clip_grad_value_ if by_value else clip_grad_norm_)
    check_keys(clip, {*known, 'type'}, where)
    limit = 'clip_value' if by_value else 'max_norm'
    check_number(clip.get(limit), f'{where}.{limit}', 0, above=True)
    norm = clip.get('norm_type', 2)
    if norm not in (math.inf, 'inf'):
        check_number(norm, f'{where}.norm_type', 0, above=True)


def _check_loader(loader: Any, where: str) -> None:
    if not loader:
        return
    known = {*_parameters(DataLoader.__init__), 'num_batch_per_epoch'}
    check_keys(loader, known, where)
    check_defaults(loader, DataLoader, where)
    check_arguments(loader.get('sampler'), DATA_SAMPLERS, f'{where}.sampler')
    if loader.get('batch_sampler'):
        place = f'{where}.batch_sampler'
        check_arguments(loader['batch_sampler'], DATA_SAMPLERS, place)
    if loader.get('dataset'):
        _check_dataset(loader['dataset'], f'{where}.dataset')


def _check_dataset(dataset: Any, where: str) -> None:
    """Check a data set, and those inside a wrapper."""
    check_arguments(dataset, DATASETS, where)
    if 'dataset' in dataset:
        _check_dataset(dataset['dataset'], f'{where}.dataset')
    for i, part in enumerate(dataset.get('datasets') or []):
        _check_dataset(part, f'{where}.datasets.{i}')
    _check_list(dataset, 'pipeline', TRANSFORMS, where=f'{where}.')


def _check_loop(loop: Any, where: str) -> None:
    if not loop:
        return
    phase = where.split('_')[0]
    is_iters = not loop.get('by_epoch', True)
    kind = 'IterBasedTrainLoop' if is_iters else 'EpochBasedTrainLoop'
    default = dict(train=kind, val='ValLoop', test='TestLoop')[phase]
    check_arguments(loop, LOOPS, where, ('by_epoch',), default)
    for key in ('max_epochs', 'max_iters', 'val_interval'):
        if key in loop:
            check_number(loop[key], f'{where}.{key}', 1, whole=True)


def _check_evaluator(evaluator: Any, where: str) -> None:
    if isinstance(evaluator, dict) and 'metrics' in evaluator:
        check_arguments(evaluator, EVALUATOR, where, default='Evaluator')
        evaluator, where = evaluator['metrics'], f'{where}.metrics'
    if isinstance(evaluator, dict):
        check_arguments(evaluator, METRICS, where)
    elif evaluator:
        _check_list({where: evaluator}, where, METRICS)


def _check_model(model: Mapping[str, Any]) -> None:
    _check_network(model, 'model')
    for key in ('data_preprocessor', 'backbone', 'neck'):
        if model.get(key):
            _check_network(model[key], f'model.{key}')
    for key in ('decode_head', 'auxiliary_head'):
        heads = model.get(key) or []
        several = isinstance(heads, (list, tuple))
        for i, head in enumerate(heads if several else [heads]):
            where = f'model.{key}.{i}' if several else f'model.{key}'
            _check_network(head, where)
            loss = head.get('loss_decode')
            if isinstance(loss, dict):
                check_arguments(loss, MODELS, f'{where}.loss_decode')


def _check_network(part: Any, where: str) -> None:
    """Check a part of a network, and how its weights begin."""
    check_arguments(part, MODELS, where)
    start, more = WEIGHT_INITIALIZERS, ('override',)
    _check_list(part, 'init_cfg', start, more, f'{where}.')


def _check_list(
    owner: Mapping[str, Any],
    key: str,
    registry: Registry,
    more: Collection[str] = (),
    where: str = '',
) -> None:
    """Check every entry of a list, or of a single one."""
    found = owner.get(key) or []
    if isinstance(found, dict):
        check_arguments(found, registry, where + key, more)
        return
    if not isinstance(found, (list, tuple)):
        raise ValueError(
            f'{where}{key} is {found!r}, expected a list of dicts with a type'
        )
    for i, entry in enumerate(found):
        check_arguments(entry, registry, f'{where}{key}.{i}', more)


def _get(cfg: Mapping[str, Any], path: str) -> Any:
    """Return a part at a path, empty if it is missing."""
    found: Any = cfg
    for key in path.split('.'):
        found = found.get(key) or {}
    return found


def _parameters(function: Any) -> set[str]:
    """Return the names that a function takes."""
    return set(inspect.signature(function).parameters) - {'self'}
