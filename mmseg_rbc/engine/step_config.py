"""Spread a continual config over one step."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from mmengine.config import Config, ConfigDict


def step_config(cfg: Config, step: int) -> Config:
    """Return the complete config of one continual step.

    Args:
        cfg: A config with ``continual = dict(task=..., setting=...)``: what
            :class:`~mmseg_rbc.datasets.ContinualMixin` takes.
        step: The continual step.
    """
    cfg = copy.deepcopy(cfg)
    if 'task' not in cfg.get('continual', {}):
        raise ValueError(
            f'{cfg.filename} has no continual.task: inherit a file of '
            'configs/_base_/tasks, or pass --cfg-options continual.task=15-1'
        )
    for phase in ('train', 'val', 'test'):
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            dataset.update(cfg.continual, step=step)
            dataset.test_mode = phase != 'train'
    return cfg


def base_datasets(dataset: ConfigDict | None) -> Iterator[ConfigDict]:
    """Yield the data sets inside wrappers such as ``ConcatDataset``."""
    if not dataset:
        return
    inner = dataset.get('datasets') or [dataset.get('dataset')]
    if inner == [None]:
        yield dataset
        return
    for part in inner:
        yield from base_datasets(part)
