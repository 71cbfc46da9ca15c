"""Check that the parts of a config are dicts and lists where they must be.

Everything that reads them afterwards may take that for granted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from mmseg_rbc.datasets.wrappers import base_datasets

# Parents first. None and a missing key pass, but for those that are needed.
DICTS = (
    'continual',
    'continual.metainfo',
    'continual.data_prefix',
    'recipe',
    'schedule',
    'randomness',
    'env_cfg',
    'env_cfg.mp_cfg',
    'env_cfg.dist_cfg',
    'default_hooks',
    'log_processor',
    'visualizer',
    'optim_wrapper',
    'optim_wrapper.optimizer',
    'model',
    'model.data_preprocessor',
    'model.backbone',
    'model.test_cfg',
    'train_cfg',
    'val_cfg',
    'test_cfg',
    'train_dataloader',
    'train_dataloader.dataset',
    'val_dataloader',
    'val_dataloader.dataset',
    'test_dataloader',
    'test_dataloader.dataset',
)
# One dict, or several.
PARTS_OR_LISTS = (
    'model.decode_head',
    'model.auxiliary_head',
    'val_evaluator',
    'test_evaluator',
    'custom_hooks',
    'train_dataloader.dataset.pipeline',
    'val_dataloader.dataset.pipeline',
    'test_dataloader.dataset.pipeline',
)
NEEDED = ('train_dataloader', 'train_dataloader.dataset')
# Of a config that has a model: one that is trained, and evaluated.
NEEDED_TO_TRAIN = (
    'model.data_preprocessor',
    'model.backbone',
    'model.decode_head',
    'optim_wrapper',
    'optim_wrapper.optimizer',
    'val_dataloader.dataset',
    'val_cfg',
    'val_evaluator',
)
LOG_LEVELS = ('CRITICAL', 'DEBUG', 'ERROR', 'INFO', 'NOTSET', 'WARNING')
TEST_MODES = ('slide', 'slide_flip', 'whole')
START_METHODS = ('fork', 'forkserver', 'spawn')
# Of a data set: paths.
TEXTS = ('ann_file', 'data_root', 'split_dir', 'img_path', 'seg_map_path')
SUFFIXES = ('img_suffix', 'seg_map_suffix')


def check_kinds(cfg: Config) -> None:
    """Raise for a part of a config of a run that is of another kind."""
    for path in DICTS:
        value = _find(cfg, path)
        if value is not None and not isinstance(value, dict):
            raise ValueError(f'{path} is {value!r}, expected a dict')
    for path in PARTS_OR_LISTS:
        value = _find(cfg, path)
        for part in value if isinstance(value, (list, tuple)) else [value]:
            if part is not None and not isinstance(part, dict):
                raise ValueError(
                    f'{path} is {value!r}, expected a dict, or a list of dicts'
                )
    for path in (*NEEDED, *(NEEDED_TO_TRAIN if 'model' in cfg else ())):
        if not _find(cfg, path):
            raise ValueError(
                f'{path} is {_find(cfg, path)!r}, but every step is trained '
                'and evaluated with it: set it as the files of configs/ do'
            )
    _check_texts(_find(cfg, 'continual') or {}, 'continual')
    for phase in ('train', 'val', 'test'):
        where = f'{phase}_dataloader.dataset'
        for dataset in base_datasets(_find(cfg, where)):
            _check_dataset(dataset, where)
    _check_choice(cfg, 'env_cfg.mp_cfg.mp_start_method', START_METHODS)
    _check_choice(cfg, 'log_level', LOG_LEVELS)
    # Another one finds neither MMSeg's parts nor ours.
    _check_choice(cfg, 'default_scope', ('mmseg',))
    _check_choice(cfg, 'model.test_cfg.mode', TEST_MODES)


def _check_dataset(dataset: Any, where: str) -> None:
    if not dataset.get('pipeline'):
        raise ValueError(
            f'{where} has no pipeline: list the transforms that load its '
            'images and masks'
        )
    _check_texts(dataset, where)


def _check_texts(part: Mapping[str, Any], where: str) -> None:
    prefix = part.get('data_prefix') or {}
    if not isinstance(prefix, Mapping):
        raise ValueError(
            f'{where}: data_prefix is {prefix!r}, expected a dict'
        )
    for key, value in {**part, **prefix}.items():
        if key in TEXTS and not isinstance(value, (str, type(None))):
            raise ValueError(f'{where}: {key} is {value!r}, expected a path')
        if key in SUFFIXES and not isinstance(value, str):
            raise ValueError(
                f'{where}: {key} is {value!r}, expected an end of file names '
                'such as ".png"'
            )
        if key == 'backend_args' and not isinstance(value, (dict, type(None))):
            raise ValueError(f'{where}: {key} is {value!r}, expected a dict')
        if key == 'indices' and not _are_indices(value):
            raise ValueError(
                f'{where}: {key} is {value!r}, expected a number of images, '
                'or a list of their positions'
            )


def _are_indices(value: Any) -> bool:
    several = value if isinstance(value, (list, tuple)) else [value]
    return value is None or all(type(each) is int for each in several)


def _check_choice(cfg: Config, path: str, choices: tuple[str, ...]) -> None:
    value = _find(cfg, path)
    if value is not None and value not in choices:
        raise ValueError(
            f'{path} is {value!r}, expected one of {", ".join(choices)}'
        )


def _find(cfg: Mapping[str, Any], path: str) -> Any:
    """Return what is at a path, None if there is nothing."""
    found: Any = cfg
    for key in path.split('.'):
        found = found.get(key) if hasattr(found, 'get') else None
    return found
