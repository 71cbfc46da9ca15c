"""The config that adds classes to a stock network."""

from __future__ import annotations

import copy
import os.path as osp
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.device import get_device
from mmseg.registry import DATASETS

from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.utils.files import missing_files
from mmseg_rbc.utils.keys import nearest

from .stock import StockNetwork, decode_heads

CONFIGS = Path(__file__).parents[2] / 'configs' / '_base_'
# EWC, PI and RW need the importance of the stock network's weights, LwF-MC
# another loss in its training, Joint the old images.
METHODS = ('ft', 'lwf', 'ilt', 'mib', 'plop', 'rbc')
# Beside recipes/small.py. A new class that is small in the images was not
# learned in a short step with POD at 1 and rows 5 times as fast, and without
# clipping the training can explode: measured in docs/add_classes.md.
RECIPE = dict(
    relative_pod=0.3,
    relative_consistency=0.03,
    new_rows_lr=20.0,
    clip_norm=5.0,
)
TRANSFORMS = dict(
    LoadAnnotations='LoadContinualAnnotations',
    PackSegInputs='PackDupletInputs',
)
# What only AmpOptimWrapper takes.
OF_AMP = ('loss_scale', 'dtype', 'use_fsdp')
# What the parts of the evaluation may differ in.
OWN_METAINFO = ['label_map', 'reduce_zero_label']


def method_parts(name: str) -> dict[str, Any]:
    """Return a method of configs/_base_/methods, or of a config file."""
    path = CONFIGS / 'methods' / f'{name}.py'
    if osp.isfile(name):
        path = Path(name)
    elif name not in METHODS:
        raise ValueError(
            f'method {name!r} cannot add classes to a stock network'
            f'{nearest(name, METHODS)}: choose one of {", ".join(METHODS)}, '
            'or the path of a config with a method'
        )
    return Config.fromfile(path).method.to_dict()


def added_config(
    stock: StockNetwork,
    metainfo: Mapping[str, Any],
    train: Mapping[str, Any],
    evaluation: Sequence[Mapping[str, Any]],
    method: Mapping[str, Any],
    schedule: Mapping[str, Any],
) -> Config:
    """Return a config of two steps: the stock network, and what it gets.

    Args:
        stock: The network.
        metainfo: Classes and palette of the grown network.
        train: Data set of the new images.
        evaluation: Data sets to evaluate on.
        method: The parts of the method.
        schedule: lr, epochs and batch_size of step 1.
    """
    cfg = Config.fromfile(CONFIGS / 'default_runtime.py')
    recipe = Config.fromfile(CONFIGS / 'recipes' / 'small.py').recipe
    old, new = stock.classes, metainfo['classes'][len(stock.classes) :]
    test_pipeline = our_pipeline(_test_pipeline(stock.cfg))
    parts = [dict(part, pipeline=test_pipeline) for part in evaluation]
    cfg.merge_from_dict(
        dict(
            continual=dict(
                task=[list(old), list(new)],
                metainfo=dict(metainfo),
                unseen='ignore',
            ),
            model=_model(stock),
            method=dict(method),
            recipe={**recipe, **RECIPE},
            # Step 0 is the stock network: base is not used.
            schedule=dict(base=dict(schedule), later=dict(schedule)),
            optim_wrapper=stock_optimizer(stock.cfg).to_dict(),
            test_pipeline=test_pipeline,
            train_dataloader=dict(
                **_workers(stock.cfg),
                drop_last=True,
                sampler=dict(type='DefaultSampler', shuffle=True),
                dataset=dict(
                    train, pipeline=our_pipeline(_train_pipeline(stock.cfg))
                ),
            ),
            val_dataloader=dict(
                **_workers(stock.cfg),
                batch_size=1,
                sampler=dict(type='DefaultSampler', shuffle=False),
                dataset=_joined(parts),
            ),
        )
    )
    cfg.test_dataloader = copy.deepcopy(cfg.val_dataloader)
    _add_imports(cfg, stock.cfg)
    return cfg


def _model(stock: StockNetwork) -> dict[str, Any]:
    """Return the network as it is trained on."""
    model = copy.deepcopy(stock.cfg.model.to_dict())
    model['background'] = stock.has_background
    model.pop('pretrained', None)
    model.get('backbone', {}).pop('init_cfg', None)
    processor = model.get('data_preprocessor') or {}
    if processor.get('type') == 'SegDataPreProcessor':
        processor['type'] = 'DupletDataPreProcessor'
    for head in decode_heads(model):
        # The loss of a step is that of the method.
        losses = head.get('loss_decode') or {}
        losses = losses if isinstance(losses, list) else [losses]
        weight = sum(loss.get('loss_weight', 1.0) for loss in losses)
        head['loss_decode'] = dict(type='CrossEntropyLoss', loss_weight=weight)
        for key in ('sampler', 'out_channels'):
            head.pop(key, None)
    return model


def our_pipeline(transforms: Sequence[Mapping[str, Any]]) -> list[dict]:
    """Return stock transforms with our loading and packing."""
    ours = []
    for transform in transforms:
        name = TRANSFORMS.get(transform['type'], transform['type'])
        ours.append(dict(transform, type=name))
        if name == 'LoadContinualAnnotations':
            # The data set knows it.
            ours[-1].pop('reduce_zero_label', None)
    return ours


def _train_pipeline(cfg: Config) -> list[dict]:
    loader = cfg.get('train_dataloader') or {}
    for dataset in base_datasets(loader.get('dataset')):
        pipeline = dataset.get('pipeline') or []
        types = [transform['type'] for transform in pipeline]
        if types and types[-1] in ('PackSegInputs', 'PackDupletInputs'):
            return pipeline
    raise ValueError(
        'train_dataloader of the stock config has no pipeline that ends with '
        'PackSegInputs: give it the one that the network was trained with'
    )


def _test_pipeline(cfg: Config) -> list[dict]:
    for phase in ('test', 'val'):
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            if dataset.get('pipeline'):
                return dataset.pipeline
    raise ValueError(
        'the stock config has no pipeline in test_dataloader.dataset: give '
        'it the one that the network is evaluated with'
    )


def stock_optimizer(cfg: Config) -> Any:
    """Return the ``optim_wrapper`` that a stock network was trained with."""
    wrapper = cfg.get('optim_wrapper') or {}
    if not (wrapper.get('optimizer') or {}).get('lr'):
        raise ValueError(
            'the stock config has no optim_wrapper.optimizer.lr: give it the '
            'optimizer that the network was trained with'
        )
    wrapper = copy.deepcopy(wrapper)
    if wrapper.get('type') == 'AmpOptimWrapper' and get_device() == 'cpu':
        # Mixed precision needs an accelerator; without it all is the same.
        wrapper = {k: v for k, v in wrapper.items() if k not in OF_AMP}
        wrapper = ConfigDict(wrapper, type='OptimWrapper')
    return wrapper


def _workers(cfg: Config) -> dict[str, Any]:
    loader = cfg.get('train_dataloader') or {}
    count = loader.get('num_workers', 0)
    return dict(num_workers=count, persistent_workers=count > 0)


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    if len(parts) == 1:
        return parts[0]
    return dict(type='ConcatDataset', datasets=parts, ignore_keys=OWN_METAINFO)


def _add_imports(cfg: Config, stock: Config) -> None:
    """Import what the stock config imports, too."""
    names = (stock.get('custom_imports') or {}).get('imports') or []
    own = cfg.custom_imports.imports
    names = [names] if isinstance(names, str) else names
    cfg.custom_imports.imports = [*own, *(n for n in names if n not in own)]


def stock_evaluation(cfg: Config) -> tuple[dict[str, Any] | None, str]:
    """Find the images that a stock network is evaluated on.

    Returns:
        A data set for the grown network, None if the images are not there;
        and what to say of it.
    """
    loader = cfg.get('val_dataloader') or cfg.get('test_dataloader') or {}
    for config in base_datasets(loader.get('dataset')):
        try:
            dataset = DATASETS.build(dict(config, pipeline=[], test_mode=True))
            infos = [dataset.get_data_info(i) for i in range(len(dataset))]
            paths = [info[key] for info in infos for key in FILES]
        except (OSError, AssertionError, KeyError, ValueError) as error:
            return None, f'its validation images are not there ({error})'
        lost = missing_files(paths)
        if lost or not paths:
            where = lost[0] if lost else config.get('data_root')
            return None, f'its validation images are not there ({where})'
        stock = {k: v for k, v in config.items() if k != 'pipeline'}
        return dict(type='StockDataset', stock=stock), f'{len(infos)} images'
    return None, 'its config has no val_dataloader'


FILES = ('img_path', 'seg_map_path')
