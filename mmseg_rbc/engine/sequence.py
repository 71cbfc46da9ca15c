"""Run the steps of a continual sequence, one after another.

``work_dir/step_<k>/`` holds the pinned config of step k, its checkpoints,
logs and ``metrics.json``; ``final.pth`` is one network without optimiser, and
``finished.json``, written last, says that the step is done. ``summary.json``
beside the steps holds the results of all finished ones.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import os.path as osp
import shutil
import time
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dist import barrier, get_dist_info
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.runner import Runner
from mmengine.runner.checkpoint import _load_checkpoint
from mmseg.registry import DATASETS

from mmseg_rbc.models.teacher import load_previous_step
from mmseg_rbc.utils.environment import (
    peak_memory,
    reset_peak_memory,
    versions,
)
from mmseg_rbc.utils.files import write_text

from .hooks.importance_hook import IMPORTANCE
from .processes import plain_config, runtime_config
from .step_config import (
    base_datasets,
    config_task,
    step_config,
    step_dir,
    step_identity,
    training_settings,
)

FINISHED = 'finished.json'
FINAL = 'final.pth'


def run_sequence(
    cfg: Config,
    work_dir: str,
    steps: Iterable[int] | None = None,
    resume: bool = False,
    init_from: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[dict]:
    """Run steps of a sequence, leaving out the finished ones.

    Args:
        cfg: The config of all steps, with ``options`` merged.
        work_dir: Folder of all steps.
        steps: The steps to run; all by default.
        resume: Whether to continue an unfinished step from its last
            checkpoint instead of starting it again.
        init_from: Checkpoint of step 0, or the work dir of another run, to
            take step 0 from.
        options: What the user set on the command line.

    Returns:
        The content of ``finished.json`` of every finished step.
    """
    cfg = copy.deepcopy(cfg)
    task = config_task(cfg)
    # One seed for all steps and all restarts.
    cfg.randomness = dict(dict(seed=0), **(cfg.get('randomness') or {}))
    images = count_images(cfg)
    wanted = range(task.num_steps) if steps is None else steps
    for step in wanted:
        settings = training_settings(cfg, step, options)
        done = read_finished(work_dir, step, cfg)
        if done:
            _say_skipped(step, done, settings)
            continue
        adopts = step == 0 and init_from and init_from != work_dir
        final = _adopt(str(init_from), work_dir, cfg) if adopts else ''
        step_cfg = step_config(
            cfg,
            step,
            work_dir,
            previous_checkpoint(work_dir, step, cfg),
            get_dist_info()[1],
            options,
        )
        _fit_to_data(step_cfg, images, step)
        run_step(step_cfg, resume, final, settings)
        write_summary(work_dir, cfg)
    return write_summary(work_dir, cfg)


def _say_skipped(step: int, done: dict, settings: dict[str, str]) -> None:
    print_log(f'step {step} is finished: skipped', 'current')
    known = done.get('settings') or {}
    changed = [part for part in known if known[part] != settings.get(part)]
    if changed and not done.get('adopted'):
        print_log(
            f'step {step} was trained with other settings in '
            f'{", ".join(changed)}: its result is kept, use another '
            '--work-dir to train it with these',
            'current',
            logging.WARNING,
        )


def run_step(
    cfg: Config,
    resume: bool = False,
    final: str = '',
    settings: Mapping[str, str] | None = None,
) -> None:
    """Train and evaluate one step, then mark it as finished.

    Args:
        cfg: The complete config of the step.
        resume: Whether to continue from the last checkpoint.
        final: A trained network of this step, which is only evaluated.
        settings: What to write down as :func:`training_settings`.
    """
    cfg = plain_config(cfg)
    last = _last_checkpoint(cfg.work_dir) if resume and not final else None
    cfg.resume = last is not None
    cfg.load_from = final or last
    if get_dist_info()[0] == 0:
        pinned = osp.join(cfg.work_dir, 'config.py')
        os.makedirs(cfg.work_dir, exist_ok=True)
        plain_config(cfg, resume=False, load_from=None).dump(pinned)
    start = time.monotonic()
    reset_peak_memory()
    runner = Runner.from_cfg(runtime_config(cfg))
    result = LastResult()
    runner.register_hook(result)
    if not final:
        runner.train()
        _save_final(runner)
    metrics = result.metrics or runner.val()
    if runner.rank == 0:
        meta = runner.val_dataloader.dataset.metainfo
        keys = ('task', 'setting', 'step', 'classes')
        done = dict(
            {key: meta[key] for key in keys},
            **_base_meta(cfg),
            metrics=metrics,
            conditions=conditions(cfg),
            settings=settings,
            seed=cfg.get('randomness', {}).get('seed'),
            seconds=round(time.monotonic() - start, 1),
            resumed=cfg.resume,
            adopted=bool(final),
            peak_memory_mb=peak_memory(),
            versions=versions(),
        )
        path = osp.join(cfg.work_dir, FINISHED)
        write_text(path, json.dumps(done, indent=2))
    barrier()


class LastResult(Hook):
    """Remember the metrics of the last evaluation after training."""

    metrics: dict | None = None

    def after_val_epoch(
        self, runner: Runner, metrics: dict[str, float] | None = None
    ) -> None:
        """Keep the metrics if the last epoch is over."""
        if runner.iter >= runner.max_iters:
            self.metrics = metrics


def read_finished(work_dir: str, step: int, cfg: Config) -> dict | None:
    """Return what ``finished.json`` says of a step, None without it.

    Raises if the step was run with another task, order or setting.
    """
    path = osp.join(step_dir(work_dir, step), FINISHED)
    if not osp.isfile(path):
        return None
    with open(path) as file:
        done = json.load(file)
    for key, value in step_identity(cfg, step).items():
        if done.get(key) != value:
            raise ValueError(
                f'{path} is of {key} {done.get(key)!r}, but the config asks '
                f'for {value!r}: use another --work-dir'
            )
    return done


def previous_checkpoint(work_dir: str, step: int, cfg: Config) -> str | None:
    """Return the checkpoint that a step starts from."""
    if step == 0:
        return None
    if read_finished(work_dir, step - 1, cfg) is None:
        raise FileNotFoundError(
            f'step {step} starts from step {step - 1}, which is not finished '
            f'in {work_dir}: run it first (without --step all steps run), or '
            'pass --work-dir of a run that has it'
        )
    return osp.join(step_dir(work_dir, step - 1), FINAL)


def write_summary(work_dir: str, cfg: Config) -> list[dict]:
    """Collect the finished steps in ``summary.json``."""
    task = config_task(cfg)
    found = [read_finished(work_dir, s, cfg) for s in range(task.num_steps)]
    finished = [step for step in found if step]
    if get_dist_info()[0] == 0:
        summary = dict(
            task=str(task), num_steps=task.num_steps, steps=finished
        )
        path = osp.join(work_dir, 'summary.json')
        write_text(path, json.dumps(summary, indent=2))
    barrier()
    return finished


def count_images(cfg: Config) -> list[int]:
    """Return the number of training images of every step."""
    counts = []
    for step in range(config_task(cfg).num_steps):
        datasets = base_datasets(
            step_config(cfg, step).train_dataloader.dataset
        )
        lengths = [
            len(DATASETS.build(dict(dataset, pipeline=[])))
            for dataset in datasets
        ]
        counts.append(sum(lengths))
    return counts


def _fit_to_data(cfg: Config, images: list[int], step: int) -> None:
    """Shrink the batch of a step with few images, and count what is left."""
    world_size = get_dist_info()[1]
    loader, epochs = cfg.train_dataloader, cfg.train_cfg.get('max_epochs', 0)
    if images[step] < world_size:
        raise ValueError(
            f'step {step} has {images[step]} image(s) for {world_size} '
            'processes: start fewer processes'
        )
    if images[step] < loader.batch_size * world_size:
        smaller = images[step] // world_size
        print_log(
            f'step {step} has {images[step]} images, less than one batch: the '
            f'batch of a process shrinks from {loader.batch_size} to '
            f'{smaller}',
            'current',
        )
        loader.batch_size = smaller
    batch = loader.batch_size * world_size
    later = sum(max(count // batch, 1) for count in images[step + 1 :])
    if cfg.log_processor.type == 'ContinualLogProcessor':
        cfg.log_processor.later_iters = later * epochs


def _last_checkpoint(folder: str) -> str | None:
    """Return the newest complete checkpoint, also in a moved work dir."""
    path = osp.join(folder, 'last_checkpoint')
    if not osp.isfile(path):
        return None
    with open(path) as file:
        name = osp.basename(file.read().strip())
    found = osp.join(folder, name)
    return found if osp.isfile(found) else None


def conditions(cfg: Config) -> dict[str, Any]:
    """Return what must be equal for results to be comparable."""
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    backbone = cfg.model.backbone
    crops = [
        transform['crop_size']
        for transform in dataset.get('pipeline', [])
        if 'crop_size' in transform
    ]
    return dict(
        dataset=dataset.type,
        crop_size=crops[0] if crops else None,
        backbone=f'{backbone.type}-{backbone.get("depth", "")}'.rstrip('-'),
        head=cfg.model.decode_head.type,
    )


def _base_meta(cfg: Config) -> dict[str, str]:
    """Return what other methods ask of step 0 before they share it."""
    method = cfg.model.get('method')
    if cfg.model.get('previous') or not method:
        return {}
    return dict(base_criterion=method['criterion']['type'])


def _save_final(runner: Runner) -> None:
    """Write the network without optimiser, in the format of MMSeg."""
    part = FINAL + '.part'
    runner.save_checkpoint(
        runner.work_dir,
        part,
        save_optimizer=False,
        save_param_scheduler=False,
        meta=dict(
            epoch=runner.epoch, iter=runner.iter, **_base_meta(runner.cfg)
        ),
    )
    if runner.rank == 0:
        path = osp.join(runner.work_dir, part)
        content = _load_checkpoint(path, map_location='cpu')
        torch.save({k: content[k] for k in ('meta', 'state_dict')}, path)
        os.replace(path, osp.join(runner.work_dir, FINAL))
    barrier()


def _adopt(source: str, work_dir: str, cfg: Config) -> str:
    """Take the network of step 0 from a checkpoint or another work dir."""
    if osp.isdir(source):
        source = osp.join(step_dir(source, 0), FINAL)
    if not osp.isfile(source):
        raise FileNotFoundError(
            f'--init-from: {source} does not exist, expected a checkpoint of '
            'step 0 or a work dir with a finished step 0'
        )
    target = osp.join(step_dir(work_dir, 0), FINAL)
    if get_dist_info()[0] == 0 and osp.abspath(source) != osp.abspath(target):
        os.makedirs(osp.dirname(target), exist_ok=True)
        content = load_previous_step(source, step_identity(cfg, 0))
        if cfg.get('method', {}).get('importance'):
            _adopt_importance(osp.dirname(source), osp.dirname(target))
        part = target + '.part'
        torch.save({k: content[k] for k in ('meta', 'state_dict')}, part)
        os.replace(part, target)
    barrier()
    return target


def _adopt_importance(source: str, target: str) -> None:
    path = osp.join(source, IMPORTANCE)
    if not osp.isfile(path):
        raise FileNotFoundError(
            f'--init-from: {path} does not exist, but this method needs the '
            'importance of the weights in step 0: take it from a run of the '
            'same method, or train step 0'
        )
    shutil.copyfile(path, osp.join(target, IMPORTANCE))
