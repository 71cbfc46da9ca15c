"""Short digests of what decides how a step trains."""

from __future__ import annotations

import copy
import hashlib
import json

from mmengine.config import Config

from mmseg_rbc.datasets.wrappers import base_datasets

DIGESTED = (
    'model',
    'train_dataloader',
    'optim_wrapper',
    'param_scheduler',
    'train_cfg',
    'custom_hooks',
)


def training_digests(cfg: Config) -> dict[str, str]:
    """Return a digest of each part of a step's config that matters.

    Paths of work dirs do not, nor does the name of the task: 15-5 and 15-1
    begin alike. The batch is that of all processes, whatever their number.

    Args:
        cfg: The complete config of a step.
    """
    parts = copy.deepcopy({key: cfg.get(key) for key in DIGESTED})
    loader = parts['train_dataloader']
    loader.dataset.dataset.pop('memory', None)
    for dataset in base_datasets(loader.dataset):
        dataset.pop('task', None)
    for key in ('num_workers', 'persistent_workers'):
        loader.pop(key, None)
    if not parts['model'].get('previous'):
        # Step 0 is the same with and without one, so that they share it.
        parts['custom_hooks'] = [
            hook
            for hook in parts['custom_hooks']
            if hook['type'] != 'MemoryHook'
        ]
    for owner in (parts['model'].get('previous'), *parts['custom_hooks']):
        for key in ('checkpoint', 'previous'):
            (owner or {}).pop(key, None)
    return {key: _digest(part) for key, part in parts.items()}


def _digest(part: object) -> str:
    text = json.dumps(part, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
