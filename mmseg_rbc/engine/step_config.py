"""Spread a continual config over one step.

A config names the parts of a run once: ``continual`` (task, setting, ...),
``method`` (what :class:`IncrementalEncoderDecoder` takes, and ``erase``) and
``schedule``, and perhaps ``crop_size``. :func:`step_config` makes of it the
complete config of one step, which MMSeg's own tools can run.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os.path as osp
from collections.abc import Iterator, Mapping
from typing import Any

from mmengine.config import Config, ConfigDict
from mmseg.registry import DATASETS

from mmseg_rbc.datasets.helpers import class_names
from mmseg_rbc.tasks import Task


def step_config(
    cfg: Config,
    step: int,
    work_dir: str = 'work_dirs',
    previous: str | None = None,
    world_size: int = 1,
    options: Mapping[str, Any] | None = None,
) -> Config:
    """Return the complete config of one continual step.

    Args:
        cfg: The config of all steps, with ``options`` merged.
        step: The continual step.
        work_dir: Folder of all steps.
        previous: Checkpoint of the previous step, from step 1 on.
        world_size: Processes that share the global batch.
        options: What the user set on the command line: merged again at the
            end, so the user wins.
    """
    task = config_task(cfg)
    cfg = copy.deepcopy(cfg)
    folder = step_dir(work_dir, step)
    _set_data(cfg, step)
    if 'crop_size' in cfg:
        _set_crop(cfg)
    if 'model' in cfg:
        _set_model(cfg, task, step, previous)
    if 'schedule' in cfg:
        _set_schedule(cfg, step, world_size)
    _set_runtime(cfg, task, step, folder)
    for part in ('crop_size', 'method', 'schedule'):
        cfg.pop(part, None)
    cfg.merge_from_dict(dict(options or {}))
    return cfg


def step_dir(work_dir: str, step: int) -> str:
    """Return the folder of one step."""
    return osp.join(work_dir, f'step_{step}')


def config_task(cfg: Config) -> Task:
    """Return the task of a config."""
    continual = cfg.get('continual', {})
    if 'task' not in continual:
        raise ValueError(
            f'{cfg.filename} has no continual.task: inherit a file of '
            'configs/_base_/tasks, or pass --cfg-options continual.task=15-1'
        )
    return _make_task(cfg, _trained_task(cfg))


def _trained_task(cfg: Config) -> Any:
    """Return the task as the data sets take it: one step for Joint."""
    task = cfg.continual['task']
    if not cfg.get('method', {}).get('joint'):
        return task
    if isinstance(task, str):
        return 'offline'
    return [[name for step in task for name in step]]


def _make_task(cfg: Config, task: Any) -> Task:
    return Task.make(task, config_classes(cfg), cfg.continual.get('order'))


def base_criterion(cfg: Config) -> dict[str, Any]:
    """Return the criterion of step 0, cross entropy by default."""
    default = dict(type='PixelCrossEntropy')
    return cfg.get('method', {}).get('base_criterion', default)


def step_identity(cfg: Config, step: int) -> dict[str, Any]:
    """Return what tells a finished step from that of another run.

    Step 0 is the same in all tasks with its classes, such as 15-5 and 15-1,
    but not for methods with another criterion in it.
    """
    task, names = config_task(cfg), config_classes(cfg)
    identity = dict(
        step=step,
        setting=cfg.continual.get('setting', 'overlapped'),
        classes=[names[c] for c in task.seen(step)],
    )
    if step == 0:
        return dict(identity, base_criterion=base_criterion(cfg)['type'])
    return dict(identity, task=task.name)


def training_settings(
    cfg: Config, step: int, options: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return what decides how a step trains, as short digests by part.

    Paths of work dirs and the number of processes do not matter, nor does
    the name of the task: 15-5 and 15-1 begin alike.
    """
    step_cfg = step_config(cfg, step, options=options)
    for dataset in base_datasets(step_cfg.train_dataloader.dataset):
        dataset.pop('task', None)
    for key in ('num_workers', 'persistent_workers'):
        step_cfg.train_dataloader.pop(key, None)
    parts = (
        'model',
        'train_dataloader',
        'optim_wrapper',
        'param_scheduler',
        'train_cfg',
        'custom_hooks',
    )
    texts = {
        part: json.dumps(step_cfg.get(part), sort_keys=True, default=str)
        for part in parts
    }
    return {
        part: hashlib.sha256(text.encode()).hexdigest()[:12]
        for part, text in texts.items()
    }


def config_classes(cfg: Config) -> list[str]:
    """Return all class names of the training data, background first."""
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    dataset_type = DATASETS.get(dataset.type)
    if dataset_type is None:
        raise ValueError(
            f'the data set {dataset.type!r} is unknown: import the module '
            'that registers it in custom_imports'
        )
    info = dataset_type._load_metainfo(dataset.get('metainfo'))
    return class_names(info.get('classes'))[0]


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


def _set_data(cfg: Config, step: int) -> None:
    """Tell the data sets their step, and erase where the method does."""
    erase = cfg.get('method', {}).get('erase')
    continual = dict(cfg.continual, task=_trained_task(cfg), step=step)
    for phase in ('train', 'val', 'test'):
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            dataset.update(continual)
            dataset.test_mode = phase != 'train'
            if erase and step > 0 and phase == 'train':
                dataset.pipeline = _with_erase(dataset.pipeline, erase)


def _with_erase(pipeline: list[dict], erase: dict) -> list[dict]:
    if pipeline[-1]['type'] != 'PackDupletInputs':
        raise ValueError(
            f'the training pipeline ends with {pipeline[-1]["type"]}, but a '
            'method that erases needs PackDupletInputs there'
        )
    return [*pipeline[:-1], erase, pipeline[-1]]


def _set_crop(cfg: Config) -> None:
    """Give the transforms and the preprocessor the crop of the config.

    A value that lists of transforms share cannot be inherited otherwise.
    """
    size = cfg.crop_size
    if isinstance(size, int):
        size = (size, size)
    sizes = dict(RandomResizedCrop=size, CenterCropShortSide=min(size))
    for phase in ('train', 'val', 'test'):
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            for transform in dataset.get('pipeline', []):
                if transform['type'] in sizes:
                    transform['crop_size'] = sizes[transform['type']]
            if f'{phase}_pipeline' in cfg:
                # MMSeg's inference_model() takes the pipeline from here.
                cfg[f'{phase}_pipeline'] = dataset.pipeline
    if 'model' in cfg:
        cfg.model.data_preprocessor.size = size


def _set_model(
    cfg: Config, task: Task, step: int, previous: str | None
) -> None:
    """Size the heads, and give the model its method and its teacher."""
    model, seen = cfg.model, len(task.seen(step))
    heads = [model.decode_head, model.get('auxiliary_head') or []]
    for head in heads:
        for one in head if isinstance(head, (list, tuple)) else [head]:
            one.num_classes = seen
    method = dict(cfg.get('method', {}))
    importance = method.pop('importance', None)
    if importance:
        cfg.custom_hooks = [
            *cfg.get('custom_hooks', []),
            dict(
                type='ImportanceHook', estimator=importance, previous=previous
            ),
        ]
    for part in ('base_criterion', 'erase', 'joint'):
        method.pop(part, None)
    model.type = 'IncrementalEncoderDecoder'
    if step == 0:
        model.method = dict(criterion=base_criterion(cfg))
        return
    model.method = method
    model.previous = dict(
        checkpoint=previous,
        num_classes=len(task.old(step)),
        expected=step_identity(cfg, step - 1),
    )


def _set_schedule(cfg: Config, step: int, world_size: int) -> None:
    """Set learning rate, epochs and the batch of one process.

    ``batch_size`` of the schedule counts the images of all processes; an
    erased view is an image, so a method that erases loads half as many.
    """
    part = cfg.schedule.base if step == 0 else cfg.schedule.later
    views = 2 if step > 0 and cfg.get('method', {}).get('erase') else 1
    batch, rest = divmod(part.batch_size, views * world_size)
    if rest:
        raise ValueError(
            f'a global batch of {part.batch_size} images cannot be shared by '
            f'{world_size} processes with {views} view(s) of each image: '
            'change the number of processes, or schedule.base.batch_size and '
            'schedule.later.batch_size'
        )
    cfg.train_dataloader.batch_size = batch
    cfg.optim_wrapper.optimizer.lr = part.lr
    epochs = part.epochs
    cfg.train_cfg = dict(
        type='EpochBasedTrainLoop', max_epochs=epochs, val_interval=epochs
    )
    cfg.param_scheduler = [
        dict(
            type='PublishedPolyLR',
            power=0.9,
            begin=0,
            end=epochs,
            by_epoch=True,
            convert_to_iter_based=True,
        )
    ]


def _set_runtime(cfg: Config, task: Task, step: int, folder: str) -> None:
    cfg.work_dir = folder
    cfg.experiment_name = f'step_{step}'
    # A visualizer of the same name would go on writing into the folder of
    # the step before; without one it takes that of the experiment.
    (cfg.get('visualizer') or {}).pop('name', None)
    cfg.log_processor = dict(
        cfg.get('log_processor', {}),
        type='ContinualLogProcessor',
        step=step,
        last_step=task.num_steps - 1,
    )
    for phase in ('val', 'test'):
        found = cfg.get(f'{phase}_evaluator') or []
        for evaluator in found if isinstance(found, list) else [found]:
            if evaluator.get('type') == 'ContinualIoUMetric':
                evaluator['out_file'] = osp.join(folder, 'metrics.json')
                if cfg.get('method', {}).get('joint'):
                    # Trained at once, but compared by the groups of the task.
                    split = _make_task(cfg, cfg.continual['task'])
                    evaluator['num_base'] = len(split.seen(0))
