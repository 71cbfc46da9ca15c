"""Plan many sequences: several configs, several seeds.

Runs whose step 0 would be the same share it: the first one trains it, the
others wait and take it over. ``local_jobs.py`` runs them on this machine,
``slurm_jobs.py`` submits them to a cluster.
"""

from __future__ import annotations

import json
import os.path as osp
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmseg_rbc.runs import WorkDir

from .config_parts import load_config
from .digests import training_digests
from .sequence import read_finished
from .step_config import RunConfig
from .survey import num_train_images
from .training_loop import num_iterations


@dataclass(eq=False)
class Job:
    """One sequence.

    Attributes:
        config: Path of the config.
        seed: Random seed.
        folder: Its work dir.
        run: The config with the user's options.
        shares: The job that trains step 0 for this one; None if it is its
            own.
    """

    config: str
    seed: int
    folder: WorkDir
    run: RunConfig
    shares: Job | None = None

    @property
    def name(self) -> str:
        """Name of the config, and the seed."""
        return f'{config_name(self.config)}, seed {self.seed}'

    @property
    def num_steps(self) -> int:
        """Steps of the sequence."""
        return self.run.task.num_steps

    def results(self) -> list[dict]:
        """Return what the finished steps say, without gaps."""
        found = []
        for step in range(self.num_steps):
            done = read_finished(self.folder, step, self.run)
            if done is None:
                break
            found.append(done)
        return found

    def is_finished(self) -> bool:
        """Whether all steps are finished."""
        return len(self.results()) == self.num_steps


def config_name(path: str) -> str:
    """Return the name of a config: its file without folder and ending."""
    return osp.splitext(osp.basename(path))[0]


def plan_jobs(
    configs: Sequence[str],
    seeds: Sequence[int],
    work_dir: str,
    options: Mapping[str, Any] | None = None,
) -> list[Job]:
    """Return one job for every config and seed, in an order that can run."""
    jobs: dict[str, Job] = {}
    owners: dict[str, Job] = {}
    for seed in seeds:
        for config in configs:
            path = osp.join(work_dir, config_name(config), f'seed_{seed}')
            if path in jobs:
                raise ValueError(
                    f'{jobs[path].config} and {config} with seed {seed} would '
                    f'both run in {path}: give each config a name of its own, '
                    'and each seed once'
                )
            cfg = load_config(config, options or {})
            job = Job(config, seed, WorkDir(path), RunConfig(cfg, options))
            owner = owners.setdefault(f'{seed} {base_key(job.run)}', job)
            job.shares = None if owner is job else owner
            jobs[path] = job
    return list(jobs.values())


def base_key(run: RunConfig) -> str:
    """Return a text that is the same for runs with the same step 0."""
    key = [run.identity(0), training_digests(run.step(0))]
    return json.dumps(key, sort_keys=True)


def train_command(
    job: Job,
    processes: int,
    train_tool: str,
    options: Sequence[str] = (),
    step: int | None = None,
) -> list[str]:
    """Return the command of a job.

    Args:
        job: What to run.
        processes: How many, on one machine.
        train_tool: Path of ``tools/train.py``.
        options: ``KEY=VALUE`` for ``--cfg-options``.
        step: The only step to run; all by default.
    """
    command, tail = [sys.executable], []
    if processes > 1:
        command += ['-m', 'torch.distributed.run', '--standalone']
        command += [f'--nproc_per_node={processes}']
        tail = ['--launcher', 'pytorch']
    command += [train_tool, job.config, '--resume']
    command += ['--work-dir', job.folder.path]
    if job.shares is not None:
        command += ['--init-from', job.shares.folder.path]
    if step is not None:
        command += ['--step', str(step)]
    seed = f'randomness.seed={job.seed}'
    return [*command, *tail, '--cfg-options', *options, seed]


def iterations_left(job: Job, processes: int = 1) -> list[int]:
    """Return how many iterations each step of a job has still to train.

    A step that is finished, or taken from another job, has 0.

    Args:
        job: What to count.
        processes: More of them than images in a batch make it larger.
    """
    done = len(job.results())
    first = max(done, 0 if job.shares is None else 1)
    configs = job.run.steps(job.folder.path, processes)
    return [
        0 if step < first else num_iterations(cfg, num_train_images(cfg))
        for step, cfg in enumerate(configs)
    ]


def plan_lines(jobs: Sequence[Job], processes: int = 1) -> list[str]:
    """Say what would run, with the share of each job in all iterations.

    Args:
        jobs: See :func:`plan_jobs`.
        processes: Of a job.
    """
    try:
        counts = [sum(iterations_left(job, processes)) for job in jobs]
    except FileNotFoundError as error:
        lines = [_plan_line(job, None, 0) for job in jobs]
        return [*lines, f'the costs are not known: {error}']
    total = sum(counts)
    lines = [_plan_line(job, n, total) for job, n in zip(jobs, counts)]
    left = sum(not job.is_finished() for job in jobs)
    text = f'{len(jobs)} runs, {left} to run, {total} iterations in all'
    return [*lines, text]


def _plan_line(job: Job, count: int | None, total: int) -> str:
    base = f', step 0 of {job.shares.name}' if job.shares else ''
    if job.is_finished():
        return f'{job.name}: finished{base}'
    cost = ''
    if count is not None:
        cost = f', {count} iterations ({100 * count / max(total, 1):.1f} %)'
    return f'{job.name}: to run{cost}{base}'
