"""Run the steps of a continual sequence, one after another.

What they leave in the work dir is described in :mod:`mmseg_rbc.runs.work_dir`.
"""

from __future__ import annotations

import copy
import itertools
import logging
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from mmengine.config import Config
from mmengine.dist import barrier, get_world_size, is_main_process
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.runner import Runner, weights_to_cpu

from mmseg_rbc.runs import StepDir, WorkDir
from mmseg_rbc.runs.run import load_run
from mmseg_rbc.utils.checkpoint import network_only, save_checkpoint
from mmseg_rbc.utils.environment import (
    environment,
    peak_memory,
    reset_peak_memory,
)
from mmseg_rbc.utils.files import remove_parts
from mmseg_rbc.utils.weights import network_of

from .adoption import adopt_step_0
from .batch import growth_sentence
from .checks import check_run
from .config_kinds import check_kinds
from .digests import training_digests
from .hooks import NormStatisticsHook
from .launch import build_runner, check_shared_folder, close_runner
from .resuming import find_checkpoint
from .step_config import RunConfig
from .step_parts import continual_metrics
from .training_loop import fit_to_data

# MMEngine keeps loggers and visualizers by name and second: a step that is
# stopped and started again within a second would write into the old ones.
_RUN_NUMBER = itertools.count()


def run_sequence(
    cfg: Config,
    work_dir: str,
    steps: Iterable[int] | None = None,
    resume: bool = False,
    init_from: str | None = None,
    options: Mapping[str, Any] | None = None,
    check_only: bool = False,
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
        check_only: Whether to stop when everything is checked.

    Returns:
        The content of ``finished.json`` of every finished step.
    """
    check_shared_folder(work_dir)
    cfg = copy.deepcopy(cfg)
    check_kinds(cfg)
    # One seed for all steps and all restarts.
    cfg.randomness = dict(dict(seed=0), **(cfg.get('randomness') or {}))
    run, folder = RunConfig(cfg, options), WorkDir(work_dir)
    configs = run.steps(work_dir, get_world_size())
    _say_growth(run, configs)
    every = range(len(configs))
    wanted = list(every if steps is None else steps)
    for step in wanted:
        # Raises if the task has no such step.
        run.identity(step)
    to_train = [s for s in every if not read_finished(folder, s, run)]
    adopts = bool(init_from) and init_from != work_dir and 0 in to_train
    if adopts:
        to_train.remove(0)
        wanted = sorted({0, *wanted})
    checked = check_run(configs, work_dir, to_train)
    if check_only:
        if adopts:
            source, weights = str(init_from), checked.weights
            adopt_step_0(source, folder.step(0), run, weights, check_only)
        return []
    images = [survey.num_images for survey in checked.surveys]
    for step in wanted:
        done = read_finished(folder, step, run)
        step_cfg = configs[step]
        digests = training_digests(step_cfg)
        if done:
            _say_skipped(
                step, done, dict(digests, seed=cfg.randomness['seed'])
            )
            continue
        _check_previous(folder, step, run)
        adopted = adopts and step == 0
        if adopted:
            source, weights = str(init_from), checked.weights
            adopt_step_0(source, folder.step(0), run, weights)
        else:
            fit_to_data(configs, images, step)
        method = run.identity(step).get('method')
        found = checked.surveys[step].record()
        record = dict(digests=digests, method=method, **found)
        run_step(step_cfg, resume, adopted, record)
        write_summary(folder, run)
    return write_summary(folder, run)


def _say_growth(run: RunConfig, configs: list[Config]) -> None:
    """Say, before anything trains, if the processes need larger batches."""
    if run.shares_batch:
        single = [run.step(step) for step in range(len(configs))]
        sentence = growth_sentence(single, configs)
        if sentence:
            print_log(sentence, 'current')


def _say_skipped(step: int, done: dict, settings: dict[str, Any]) -> None:
    print_log(f'step {step} is finished: skipped', 'current')
    known = dict(done.get('digests') or {}, seed=done.get('seed'))
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
    trained: bool = False,
    record: Mapping[str, Any] | None = None,
) -> None:
    """Train and evaluate one step, then mark it as finished.

    Args:
        cfg: The complete config of the step.
        resume: Whether to continue from the last checkpoint.
        trained: Whether ``final.pth`` is there, so that it is only evaluated.
        record: What else to write into ``finished.json``.
    """
    folder = StepDir(cfg.work_dir)
    cfg = copy.deepcopy(cfg)
    last = _begin(cfg, folder, resume and not trained)
    cfg.resume = last is not None
    cfg.load_from = folder.final if trained else last
    cfg.experiment_name = f'{cfg.experiment_name}_{next(_RUN_NUMBER)}'
    start = time.monotonic()
    reset_peak_memory()
    seed = cfg.get('randomness', {}).get('seed')
    record = dict(record or {}, seed=seed, **environment())
    _record_in_metrics(cfg, record)
    runner = build_runner(cfg)
    result = LastResult()
    if get_world_size() > 1:
        runner.register_hook(NormStatisticsHook())
    if not trained:
        runner.register_hook(result)
        runner.train()
        save_final(runner, folder)
    # A point of our own: an adopted step 0 is not trained, but it ends.
    runner.call_hook('after_step')
    metrics = result.metrics or runner.val()
    if is_main_process():
        meta = runner.val_dataloader.dataset.metainfo
        keys = ('task', 'setting', 'step', 'classes')
        folder.write_finished(
            dict(
                {key: meta[key] for key in keys},
                **_base_meta(cfg),
                metrics=metrics,
                **record,
                seconds=round(time.monotonic() - start, 1),
                resumed=cfg.resume,
                resumed_with=cfg.get('resumed_with', []),
                adopted=trained,
                peak_memory_mb=peak_memory(),
            )
        )
    barrier()
    close_runner(runner)


def _record_in_metrics(cfg: Config, record: Mapping[str, Any]) -> None:
    """Have ``metrics.json`` say what the step ran with."""
    for evaluator in continual_metrics(cfg.get('val_evaluator')):
        keys = ('seed', 'threads', 'versions', 'git', 'data')
        evaluator['record'] = {key: record.get(key) for key in keys}


def _begin(cfg: Config, folder: StepDir, resume: bool) -> str | None:
    """Write the config of a step, and return the checkpoint to resume."""
    last, changes = find_checkpoint(folder, cfg) if resume else (None, [])
    if changes:
        cfg.resumed_with = changes
    if is_main_process():
        os.makedirs(folder.path, exist_ok=True)
        remove_parts(folder.path)
        cfg.dump(folder.config)
    return last


class LastResult(Hook):
    """Remember the metrics of the last evaluation after training."""

    metrics: dict | None = None

    def after_val_epoch(
        self, runner: Runner, metrics: dict[str, float] | None = None
    ) -> None:
        """Keep the metrics if the last epoch is over."""
        if runner.iter >= runner.max_iters:
            self.metrics = metrics


def read_finished(folder: WorkDir, step: int, run: RunConfig) -> dict | None:
    """Return what ``finished.json`` says of a step, None without it.

    Raises if the task has no such step, or if the step was run with another
    task, order or setting.
    """
    expected = run.identity(step)
    done = folder.step(step).read_finished()
    for key, value in expected.items():
        # Results of earlier versions do not name their method.
        if done and done.get(key, value) != value:
            raise ValueError(
                f'{folder.step(step).finished} is of {key} {done.get(key)!r}, '
                f'but the config asks for {value!r}: use another --work-dir'
            )
    return done


def _check_previous(folder: WorkDir, step: int, run: RunConfig) -> None:
    """Raise unless the step before is finished."""
    if step > 0 and read_finished(folder, step - 1, run) is None:
        raise FileNotFoundError(
            f'step {step} starts from step {step - 1}, which is not finished '
            f'in {folder.path}: run it first (without --step all steps run), '
            'or pass --work-dir of a run that has it'
        )


def write_summary(folder: WorkDir, run: RunConfig) -> list[dict]:
    """Collect the finished steps in ``summary.json``."""
    steps = range(run.task.num_steps)
    found = [read_finished(folder, step, run) for step in steps]
    finished = [done for done in found if done]
    if is_main_process():
        remove_parts(folder.path)
        change = load_run(folder.path).context_change()
        folder.write_summary(str(run.task), len(steps), finished, change)
    barrier()
    return finished


def _base_meta(cfg: Config) -> dict[str, str]:
    """Return what other methods ask of step 0 before they share it."""
    method = cfg.model.get('method')
    if cfg.model.get('previous') or not method:
        return {}
    return dict(base_criterion=method['criterion']['type'])


def save_final(runner: Runner, folder: StepDir) -> None:
    """Write the network without optimizer, in the format of MMSeg."""
    if is_main_process():
        model = network_of(runner)
        meta = dict(
            epoch=runner.epoch,
            iter=runner.iter,
            cfg=runner.cfg.pretty_text,
            seed=runner.seed,
            experiment_name=runner.experiment_name,
            dataset_meta=runner.train_dataloader.dataset.metainfo,
            **_base_meta(runner.cfg),
        )
        content = dict(
            meta=meta, state_dict=weights_to_cpu(model.state_dict())
        )
        # So that hooks such as EMAHook can put their weights in.
        runner.call_hook('before_save_checkpoint', checkpoint=content)
        save_checkpoint(network_only(content), folder.final)
    barrier()
