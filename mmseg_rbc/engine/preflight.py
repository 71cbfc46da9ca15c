"""Build the parts of all steps before the first one trains.

A part of step 1 that cannot be built would only be found when step 0 has
trained for hours.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.optim import build_optim_wrapper
from mmengine.registry import Registry
from mmseg.registry import (
    HOOKS,
    METRICS,
    MODELS,
    TRANSFORMS,
    WEIGHT_INITIALIZERS,
)
from torch import nn

from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.models.classifier import grow_state_dict

from .runner_keys import PHASES

# What the registry puts before the message of a class.
_PREFIX = re.compile(r'^(class `[^`]+` in \S+: )+')


def check_steps(configs: Sequence[Config]) -> list[nn.Module]:
    """Raise for a part of any step that cannot be built.

    Args:
        configs: The complete config of every step.

    Returns:
        Fresh networks of step 0 and, if there is one, of step 1.
    """
    for cfg in configs:
        _check_device(cfg)
        for where, registry, part in _small_parts(cfg):
            build(part, registry, where)
    # Later steps only differ by their number of classes.
    networks = [_build_network(cfg) for cfg in configs[:2]]
    for cfg, network in zip(configs[1:], networks[1:]):
        start = cfg.model.method.get('classifier_init', 'random')
        old = networks[0].state_dict()
        grow_state_dict(old, network.state_dict(), start)
    return networks


def build(part: Mapping[str, Any], registry: Registry, where: str) -> Any:
    """Build a part of a config, or say in a sentence why it cannot be.

    Args:
        part: Its config.
        registry: Where its class is registered.
        where: Its place in the config.
    """
    try:
        return registry.build(copy.deepcopy(dict(part)))
    except Exception as error:
        raise ValueError(_sentence(where, error)) from error


def _sentence(where: str, error: Exception) -> str:
    text = _PREFIX.sub('', str(error)).strip() or type(error).__name__
    kind = '' if isinstance(error, ValueError) else f'{type(error).__name__}: '
    return f'{where} cannot be built: {kind}{text}'


def _small_parts(cfg: Config) -> Iterable[tuple[str, Registry, dict]]:
    """Yield what is cheap to build: place, registry and config."""
    for i, hook in enumerate(cfg.get('custom_hooks') or []):
        part = {key: value for key, value in hook.items() if key != 'priority'}
        yield f'custom_hooks.{i}', HOOKS, part
    for name in ('checkpoint', 'logger'):
        hook = (cfg.get('default_hooks') or {}).get(name)
        if hook:
            part = {k: v for k, v in hook.items() if k != 'priority'}
            yield f'default_hooks.{name}', HOOKS, part
    for where, start in _beginnings(cfg.get('model') or {}, 'model'):
        part = {k: v for k, v in start.items() if k != 'override'}
        yield where, WEIGHT_INITIALIZERS, part
    for phase in PHASES:
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            for i, transform in enumerate(dataset.get('pipeline') or []):
                where = f'{phase}_dataloader.dataset.pipeline.{i}'
                yield where, TRANSFORMS, transform
        found = cfg.get(f'{phase}_evaluator') or []
        for metric in found if isinstance(found, list) else [found]:
            if 'metrics' not in metric:
                yield f'{phase}_evaluator', METRICS, metric


def _beginnings(part: Any, where: str) -> Iterable[tuple[str, dict]]:
    """Yield every ``init_cfg`` of a network, with its place."""
    several = part if isinstance(part, (list, tuple)) else [part]
    for one in several:
        for key, value in one.items() if isinstance(one, Mapping) else ():
            if key == 'init_cfg' and value:
                starts = value if isinstance(value, list) else [value]
                yield from ((f'{where}.{key}', start) for start in starts)
            elif key in ('backbone', 'neck', 'decode_head', 'auxiliary_head'):
                yield from _beginnings(value, f'{where}.{key}')


def _build_network(cfg: Config) -> nn.Module:
    """Build network and optimizer of a step, without any checkpoint."""
    # The Runner seeds before it builds its own.
    with torch.random.fork_rng(devices=[]):
        network = build(cfg.model, MODELS, 'model')
    wrapper = cfg.get('optim_wrapper')
    if wrapper:
        try:
            build_optim_wrapper(network, copy.deepcopy(wrapper))
        except Exception as error:
            raise ValueError(_sentence('optim_wrapper', error)) from error
    return network


def _check_device(cfg: Config) -> None:
    kind = (cfg.get('optim_wrapper') or {}).get('type')
    if kind == 'AmpOptimWrapper' and get_device() == 'cpu':
        raise ValueError(
            'optim_wrapper.type is AmpOptimWrapper (--amp), which needs an '
            'accelerator, but torch finds only the CPU: leave --amp out, or '
            'install a torch that sees your accelerator'
        )
