"""Check a config that came inside a checkpoint, before anything is built.

A config is a program too: MMEngine imports what a ``type`` with dots names
and calls it, and MMSeg unpickles a file that a class weight names. So of a
config that nobody wrote on this machine only what builds a network and its
data is kept, and it may name nothing but what is registered already.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config
from mmengine.registry import Registry
from mmseg.registry import DATASETS, MODELS, TASK_UTILS, TRANSFORMS

from mmseg_rbc.datasets.continual import ContinualMixin
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.models.heads import stock_segmentor
from mmseg_rbc.utils.safe_loading import TRUST, trusts_checkpoints

# Of our segmentor; the network that predicts is a stock one.
_OF_TRAINING = (
    'method',
    'previous',
    'fuse_teacher',
    'background',
    'freeze_norm',
    'frozen',
    'channels_last',
)
# Where weights start; those of the checkpoint replace them.
_OF_INITIALIZATION = ('init_cfg', 'pretrained', 'checkpoint_path')
# The first makes a registry import a module, the others reach the web.
_FORBIDDEN_KEYS = ('_scope_', 'backend_args', 'file_client_args')
# A network and a transform need plain words: losses unpickle the file that
# a class weight names, which may be called "pkl" without a dot, and loaders of
# medical images have a backend "pickle".
_NO_WORD = re.compile(r'[/\\.]|^(pickle|pkl|ya?ml)$')
# Data lies in files, but not on the web and not in files that run.
_NO_DATA = re.compile(r'://|\.(pkl|pickle|ya?ml)$', re.IGNORECASE)


def network_parts(parsed: Mapping[str, Any], path: str) -> Config:
    """Keep of a config what builds the network and its data, and check it.

    Args:
        parsed: The config, with a model.
        path: Of the checkpoint it came in, for messages.

    Returns:
        ``model`` of a stock segmentor, ``test_pipeline``, and ``dataset`` in
        ``val_dataloader`` and ``train_dataloader``, the latter without a
        pipeline. The whole config if the user trusts checkpoints.
    """
    model = {k: v for k, v in parsed['model'].items() if k not in _OF_TRAINING}
    model['type'] = stock_segmentor(model)
    if trusts_checkpoints():
        return Config(dict(parsed, model=model))
    model = _without_initialization(model)
    _check(model, f'{path}: model', (MODELS, TASK_UTILS), _NO_WORD)
    kept: dict[str, Any] = dict(model=model)
    if 'test_pipeline' in parsed:
        kept['test_pipeline'] = parsed['test_pipeline']
        where = f'{path}: test_pipeline'
        _check(kept['test_pipeline'], where, (TRANSFORMS,), _NO_WORD)
    for key in ('val_dataloader', 'train_dataloader'):
        loader = parsed.get(key) or {}
        if not isinstance(loader, Mapping):
            raise ValueError(f'{path}: {key} is {loader!r}, expected a dict')
        for dataset in base_datasets(loader.get('dataset')):
            if key == 'train_dataloader':
                dataset = dict(dataset, pipeline=[])
            _check(dataset, f'{path}: {key}.dataset', (DATASETS,), _NO_DATA)
            kept[key] = dict(dataset=dataset)
            break
    return Config(kept)


def build_dataset(config: Mapping[str, Any]) -> Any:
    """Build the data set of a config that came inside a checkpoint.

    Only our own: others of MMSeg unpickle or fetch their lists.
    """
    kind = DATASETS.get(config['type'])
    if not (isinstance(kind, type) and issubclass(kind, ContinualMixin)):
        raise ValueError(
            f'the checkpoint was trained with data of {config["type"]}, '
            'expected a continual data set: pass a checkpoint of '
            'tools/train.py'
        )
    return DATASETS.build(config)


def _without_initialization(value: Any) -> Any:
    """Leave out what would read or download other weights."""
    if isinstance(value, Mapping):
        kept = {
            key: _without_initialization(part)
            for key, part in value.items()
            if key not in _OF_INITIALIZATION
        }
        if str(kept.get('type')).split('.')[-1] == 'TIMMBackbone':
            # The only one of MMSeg that downloads weights unless told not to.
            kept['pretrained'] = False
        return kept
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_initialization, value))
    return value


def _check(
    value: Any, where: str, registries: Sequence[Registry], no: re.Pattern
) -> None:
    """Raise if building a part of a config could run or fetch anything.

    Args:
        value: The part.
        where: Its name, for messages.
        registries: Those of MMSeg that its types may be in.
        no: What its strings may not match.
    """
    if isinstance(value, Mapping):
        if 'type' in value:
            _check_type(value['type'], f'{where}.type', registries)
        for key, part in value.items():
            name = f'{where}.{key}'
            if key == 'type':
                continue
            if key == 'pipeline':
                _check(part, name, (TRANSFORMS,), _NO_WORD)
            elif key in _FORBIDDEN_KEYS and part is not None:
                raise ValueError(_refusal(name, part))
            else:
                _check(part, name, registries, no)
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            _check(part, f'{where}[{i}]', registries, no)
    elif isinstance(value, str) and (
        no.search(value) or (no is _NO_WORD and _is_module(value))
    ):
        raise ValueError(_refusal(where, value))


def _is_module(word: str) -> bool:
    """Whether a word could import a module that nobody imported yet.

    Some parts take a type under another name, such as ``resize_type``, and a
    registry that does not know it tries to import it.
    """
    # An import takes any file name, such as "my-script", but no empty one.
    if not word or word in sys.modules:
        return False
    found = importlib.util.find_spec(word)
    # A mere folder has no origin, and runs nothing.
    return found is not None and found.origin is not None


def _check_type(name: Any, where: str, registries: Sequence[Registry]) -> None:
    """Raise unless a name is registered; nothing is imported to see that."""
    if isinstance(name, str) and any(
        _is_registered(name, r) for r in registries
    ):
        return
    raise ValueError(
        _refusal(where, name) + ', or import the module that registers it '
        'before you load the checkpoint'
    )


def _is_registered(name: str, registry: Registry) -> bool:
    """Whether a registry would find a name without importing a module."""
    registry.import_from_location()
    root = registry.root
    scope, key = registry.split_scope_key(name)
    places = [registry, root]
    if scope is not None:
        known = (root, *root.children.values())
        places = [place for place in known if place.scope == scope]
    return any(key in place.module_dict for place in places)


def _refusal(where: str, value: Any) -> str:
    return (
        f'{where}={value!r} is refused, because nothing is imported, read or '
        'run that only a checkpoint asks for: if you trust this file as you '
        f'trust a program, set {TRUST}=1'
    )
