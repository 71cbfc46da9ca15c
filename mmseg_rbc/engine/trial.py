"""One pass of a step over two images, before the first step trains.

Some networks and transforms only fail when they are called: without this,
after hours if it is step 1 that fails.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.device import get_device
from mmengine.logging import MMLogger
from mmengine.structures import PixelData
from mmseg.registry import DATASETS
from torch import Tensor

from mmseg_rbc.datasets.draws import Draw
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.models.outputs import run_network

from .hooks.pseudo_threshold_hook import full_views

# Pixels of a side: seconds for a ResNet-101 on a CPU. A network that takes
# no such picture is shown the whole one.
SIDE = 128


def try_step(
    cfg: Config, network: Any, previous: Mapping[str, Tensor] | None
) -> None:
    """Train a step for one iteration and predict, then forget it.

    No random number of the run is used up.

    Args:
        cfg: The complete config of the step.
        network: Its network, which is changed.
        previous: Weights of step 0, with which a later step begins.
    """
    step = 0 if previous is None else 1
    with _kept_randomness(), _quiet():
        network.to(get_device())
        try:
            if previous is not None:
                network.take_over(previous)
            batch = _samples(cfg, 'train', 2)
            _with_small_pictures(_train, network, cfg, batch)
            _with_small_pictures(_predict, network, cfg, _samples(cfg, 'val'))
        except Exception as error:
            raise ValueError(_sentence(step, error)) from error
        finally:
            network.to('cpu')


def _sentence(step: int, error: Exception) -> str:
    text = str(error).strip()
    if not isinstance(error, ValueError):
        text = f'{type(error).__name__}: {text}'
    return f'step {step} fails in a trial with two images: {text}'


@contextmanager
def _kept_randomness() -> Iterator[None]:
    """Give all random generators back the state that they had."""
    states = random.getstate(), np.random.get_state()
    has_cuda = torch.cuda.is_available()
    devices = [torch.cuda.current_device()] if has_cuda else []
    with torch.random.fork_rng(devices):
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


@contextmanager
def _quiet() -> Iterator[None]:
    """Log nothing but warnings: the step itself says it again.

    By a logger of its own, because that of an earlier run may be closed.
    """
    logger = MMLogger.get_instance(__name__, log_level='WARNING')
    try:
        yield
    finally:
        MMLogger._instance_dict.pop(logger.instance_name)


def _samples(cfg: Config, phase: str, number: int = 1) -> list[dict]:
    """Return the first samples of a phase, with its transforms."""
    config = _without_memory(copy.deepcopy(cfg[f'{phase}_dataloader'].dataset))
    for part in base_datasets(config):
        part['serialize_data'] = False
    dataset = DATASETS.build(config)
    draws = [Draw(i % len(dataset)) for i in range(number)]
    for position, draw in enumerate(draws):
        draw.key = (0, 0, 0, position)
    samples = [dataset[draw] for draw in draws]
    for sample in samples:
        _check_sample(sample, phase)
    return samples


def _without_memory(config: Any) -> Any:
    """Leave out the images in memory: the step that writes it is to come."""
    if config.get('type') == 'MemoryDataset':
        return config['dataset']
    if isinstance(config.get('dataset'), Mapping):
        config['dataset'] = _without_memory(config['dataset'])
    return config


def _check_sample(sample: Any, phase: str) -> None:
    where = f'{phase}_dataloader.dataset.pipeline'
    keys = {*sample} if isinstance(sample, dict) else set()
    if not keys >= {'inputs', 'data_samples'}:
        raise ValueError(
            f'{where} makes no inputs and data_samples: end it with '
            'dict(type="PackDupletInputs")'
        )
    data = sample['data_samples']
    for view in data if isinstance(data, list) else [data]:
        if 'gt_sem_seg' not in view:
            raise ValueError(
                f'{where} loads no labels: add '
                'dict(type="LoadContinualAnnotations") behind the loading of '
                'the image'
            )


def _with_small_pictures(
    run: Callable[[Any, Config, dict], None],
    network: Any,
    cfg: Config,
    samples: list[dict],
) -> None:
    """Run with pictures of :data:`SIDE`, or else with whole ones."""
    network.train(run is _train)
    batch = pseudo_collate(samples)
    whole = network.data_preprocessor(batch, run is _train)
    small = _cut(whole)
    try:
        run(network, cfg, small)
    except Exception:
        if small['inputs'].shape == whole['inputs'].shape:
            raise
        run(network, cfg, whole)


def _cut(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the middle of pictures and their labels."""
    height, width = data['inputs'].shape[-2:]
    top, left = max(height - SIDE, 0) // 2, max(width - SIDE, 0) // 2
    window = (..., slice(top, top + SIDE), slice(left, left + SIDE))
    samples = copy.deepcopy(data['data_samples'])
    for sample in samples:
        labels = sample.gt_sem_seg.data[window]
        sample.gt_sem_seg = PixelData(data=labels)
    return dict(inputs=data['inputs'][window], data_samples=samples)


def _train(network: Any, cfg: Config, data: dict[str, Any]) -> None:
    """Run a forward and a backward pass."""
    labeler, hooks = network.pseudo_labeler, cfg.get('custom_hooks') or []
    if hasattr(labeler, 'thresholds') and any(
        hook.get('type') == 'PseudoThresholdHook' for hook in hooks
    ):
        labeler.thresholds = labeler.estimate(
            network.teacher, lambda: [full_views(data)], network.num_classes
        )
    losses = network(**data, mode='loss')
    network.parse_losses(losses)[0].backward()
    network.zero_grad()


@torch.no_grad()
def _predict(network: Any, cfg: Config, data: dict[str, Any]) -> None:
    """Run as a teacher will, and as an evaluation does."""
    run_network(network, data['inputs'])
    network(**data, mode='predict')
