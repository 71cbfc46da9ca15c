"""Plan and run many sequences: several configs, several seeds.

Runs whose step 0 would be the same share it: the first one trains it, the
others wait and take it over.
"""

from __future__ import annotations

import json
import os
import os.path as osp
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from mmengine.config import Config

from .sequence import FINISHED, read_finished
from .step_config import (
    config_task,
    step_dir,
    step_identity,
    training_settings,
)


@dataclass(eq=False)
class Job:
    """One sequence.

    Attributes:
        config: Path of the config.
        seed: Random seed.
        work_dir: Folder of all its steps.
        cfg: The config with the user's options.
        shares: The job that trains step 0 for this one; None if it is its
            own.
    """

    config: str
    seed: int
    work_dir: str
    cfg: Config
    shares: Job | None = None

    @property
    def name(self) -> str:
        """Name of the config, and the seed."""
        stem = osp.splitext(osp.basename(self.config))[0]
        return f'{stem}, seed {self.seed}'

    @property
    def log(self) -> str:
        """File that the output goes to."""
        return osp.join(self.work_dir, 'benchmark.log')

    def results(self) -> list[dict]:
        """Return what the finished steps say, without gaps."""
        found = []
        for step in range(config_task(self.cfg).num_steps):
            done = read_finished(self.work_dir, step, self.cfg)
            if done is None:
                break
            found.append(done)
        return found

    def is_finished(self) -> bool:
        """Whether all steps are finished."""
        return len(self.results()) == config_task(self.cfg).num_steps

    def has_base(self) -> bool:
        """Whether step 0 is finished."""
        return osp.isfile(osp.join(step_dir(self.work_dir, 0), FINISHED))


def plan_jobs(
    configs: Sequence[str],
    seeds: Sequence[int],
    work_dir: str,
    options: Mapping[str, Any] | None = None,
) -> list[Job]:
    """Return one job for every config and seed, in an order that can run."""
    jobs: list[Job] = []
    owners: dict[str, Job] = {}
    for seed in seeds:
        for config in configs:
            cfg = Config.fromfile(config)
            cfg.merge_from_dict(dict(options or {}))
            stem = osp.splitext(osp.basename(config))[0]
            folder = osp.join(work_dir, stem, f'seed_{seed}')
            job = Job(config, seed, folder, cfg)
            for other in jobs:
                if other.work_dir == folder:
                    raise ValueError(
                        f'{other.config} and {config} with seed {seed} would '
                        f'both run in {folder}: give each config a name of '
                        'its own, and each seed once'
                    )
            owner = owners.setdefault(f'{seed} {base_key(cfg)}', job)
            job.shares = None if owner is job else owner
            jobs.append(job)
    return jobs


def base_key(cfg: Config) -> str:
    """Return a text that is the same for configs with the same step 0."""
    key = [step_identity(cfg, 0), training_settings(cfg, 0)]
    return json.dumps(key, sort_keys=True)


def job_command(
    job: Job, device: str, train_tool: str, options: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a job.

    Args:
        job: What to run.
        device: ``cpu``, the number of a GPU, or several as in ``0,1``.
        train_tool: Path of ``tools/train.py``.
        options: ``KEY=VALUE`` for ``--cfg-options``.
    """
    on_cpu = device == 'cpu'
    environment = dict(
        os.environ, CUDA_VISIBLE_DEVICES='' if on_cpu else device
    )
    command = [sys.executable]
    tail: list[str] = []
    if not on_cpu:
        processes = len(device.split(','))
        if processes > 1:
            command += ['-m', 'torch.distributed.run', '--standalone']
            command += [f'--nproc_per_node={processes}']
            tail = ['--launcher', 'pytorch']
    command += [train_tool, job.config, '--work-dir', job.work_dir, '--resume']
    if job.shares is not None:
        command += ['--init-from', job.shares.work_dir]
    seed = f'randomness.seed={job.seed}'
    return [*command, *tail, '--cfg-options', *options, seed], environment


def run_jobs(
    jobs: Sequence[Job],
    devices: Sequence[str],
    train_tool: str,
    options: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> list[Job]:
    """Run what is not finished, one job at a time on each device.

    A job that fails stops no other, but those that wait for its step 0.
    An exception, such as a keyboard interrupt, stops them all.

    Args:
        jobs: See :func:`plan_jobs`.
        devices: See :func:`job_command`; one may stand there several times.
        train_tool: Path of ``tools/train.py``.
        options: ``KEY=VALUE`` for ``--cfg-options``.
        say: Takes lines about the progress.

    Returns:
        The jobs that failed or could not start.
    """
    waiting = [job for job in jobs if not job.is_finished()]
    for job in jobs:
        if job not in waiting:
            say(f'{job.name}: finished before')
    failed: list[Job] = []
    total = len(waiting)
    free = list(devices)
    running: list[tuple[Job, str, subprocess.Popen, float]] = []
    try:
        while waiting or running:
            for job in [j for j in waiting if _lost_base(j, failed)]:
                waiting.remove(job)
                failed.append(job)
                say(f'{job.name}: left out, its step 0 failed')
            for job in [j for j in waiting if _can_start(j)][: len(free)]:
                waiting.remove(job)
                device = free.pop(0)
                command = job_command(job, device, train_tool, options)
                running.append((job, device, *_start(job, *command)))
                left = f'{len(waiting)} of {total} wait'
                say(f'{job.name}: started on {device}, log {job.log}; {left}')
            for entry in [e for e in running if e[2].poll() is not None]:
                running.remove(entry)
                job, device, process, start = entry
                free.append(device)
                minutes = (time.monotonic() - start) / 60
                if process.returncode == 0:
                    say(f'{job.name}: finished in {minutes:.1f} min')
                else:
                    failed.append(job)
                    say(
                        f'{job.name}: failed after {minutes:.1f} min with exit'
                        f' code {process.returncode}, see {job.log}'
                    )
            time.sleep(0.2)
    finally:
        for _, _, process, _ in running:
            process.terminate()
        for job, _, process, _ in running:
            process.wait()
            say(f'{job.name}: stopped; the same command goes on')
    return failed


def _can_start(job: Job) -> bool:
    return job.shares is None or job.shares.has_base()


def _lost_base(job: Job, failed: Sequence[Job]) -> bool:
    return job.shares in failed and not _can_start(job)


def _start(
    job: Job, command: list[str], environment: dict[str, str]
) -> tuple[subprocess.Popen, float]:
    os.makedirs(job.work_dir, exist_ok=True)
    with open(job.log, 'a') as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment
        )
    return process, time.monotonic()
