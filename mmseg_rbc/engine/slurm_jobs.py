"""Submit many sequences to Slurm, with submitit.

What is queued is asked of Slurm, by the comments of its jobs, and what is
finished is in the work dirs: there is no other state.
"""

from __future__ import annotations

import os
import os.path as osp
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .benchmark import Job, config_name, train_command

# The signal before a time limit: what tools/train.py stops cleanly at.
SIGNAL = 'USR1'
WARN_SECONDS = 120
# A signal may come a moment after that of the process that ends by it.
LATE_SECONDS = 2.0
# To stop, and to say how far it is.
STOP_SECONDS = 60.0


@dataclass(frozen=True)
class Resources:
    """What a job asks Slurm for.

    Attributes:
        partition: Its partition; that of Slurm by default.
        gpus: Of a job, on one machine; 0 for the CPU.
        cpus: Cores of a job; 5 a GPU by default.
        hours: Time limit, after which a job is queued again and goes on.
        max_jobs: How many may run at a time.
        options: Further options of sbatch, such as ``account``.
    """

    partition: str | None = None
    gpus: int = 1
    cpus: int | None = None
    hours: float = 24.0
    max_jobs: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def processes(self) -> int:
        """Processes of a job."""
        return max(self.gpus, 1)

    def parameters(self) -> dict[str, Any]:
        """Return what submitit takes."""
        cpus = self.cpus or 5 * self.processes
        setup = [f'export SUBMITIT_PREEMPT_SIGNAL={SIGNAL}']
        if self.gpus == 0:
            setup.append(f'export OMP_NUM_THREADS={cpus}')
        wanted = dict(
            partition=self.partition,
            gpus_per_node=self.gpus or None,
            nodes=1,
            ntasks_per_node=1,
            cpus_per_task=cpus,
            time=max(1, round(60 * self.hours)),
            signal_delay_s=WARN_SECONDS,
            setup=setup,
            # srun does not ask the batch job for this.
            srun_args=[f'--cpus-per-task={cpus}'],
        )
        return {key: value for key, value in wanted.items() if value}


class Training:
    """A training in a job of Slurm, which goes on after its time limit.

    Args:
        command: See :func:`.train_command`.
        log: Where its output is appended.
    """

    def __init__(self, command: Sequence[str], log: str) -> None:
        self.command = list(command)
        self.log = log
        self.process: subprocess.Popen | None = None

    def __call__(self) -> None:
        """Train; submitit calls it on the machine of the job."""
        os.makedirs(osp.dirname(self.log), exist_ok=True)
        with open(self.log, 'a') as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log
            )
            # A signal that comes in Popen.wait() keeps the lock of the latter,
            # and checkpoint() waits too.
            while (code := self.process.poll()) is None:
                time.sleep(0.5)
        if code:
            # submitit handles the signal, if there is one, in here.
            time.sleep(LATE_SECONDS)
            raise RuntimeError(f'exit code {code}, see {self.log}')

    def checkpoint(self) -> Any:
        """Stop, and return what a requeued job calls."""
        from submitit.helpers import DelayedSubmission

        if self.process is not None and self.process.poll() is None:
            # Slurm sent it the signal too.
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        return DelayedSubmission(Training(self.command, self.log))


@dataclass(frozen=True)
class Part:
    """A job, or its step 0, as one job of Slurm.

    Attributes:
        job: The job.
        step: The only step to run; all if None.
        base: What must be finished before.
    """

    job: Job
    step: int | None = None
    base: Part | None = None

    @property
    def key(self) -> str:
        """The comment of the job of Slurm, by which it is found again."""
        path = osp.abspath(self.job.folder.path)
        return path if self.step is None else f'{path} step {self.step}'

    @property
    def name(self) -> str:
        """For people."""
        only = '' if self.step is None else f', step {self.step}'
        return f'{self.job.name}{only}'


def slurm_parts(jobs: Sequence[Job]) -> list[Part]:
    """Return what is not finished, as jobs of Slurm.

    A step 0 that others wait for is a job of its own: so they need not wait
    for the later steps of the run that has it.
    """
    left = [job for job in jobs if not job.is_finished()]
    owners = [job.shares for job in left if job.shares is not None]
    bases = {
        owner: Part(owner, step=0)
        for owner in owners
        if not owner.folder.step(0).is_finished()
    }
    parts = [Part(job, base=bases.get(job.shares or job)) for job in left]
    return [*bases.values(), *parts]


def queued_jobs() -> dict[str, str]:
    """Return the numbers of the user's jobs in Slurm, by their comments."""
    command = ['squeue', '--noheader', '--me', '--format=%i %k']
    lines = subprocess.check_output(command, text=True).splitlines()
    pairs = [line.strip().split(' ', 1) for line in lines]
    return {comment: number for number, comment in pairs}


def submit_jobs(
    jobs: Sequence[Job],
    resources: Resources,
    folder: str,
    train_tool: str,
    options: Sequence[str] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Submit what is neither finished nor queued.

    Args:
        jobs: See :func:`.plan_jobs`.
        resources: Of every job.
        folder: For the files of submitit.
        train_tool: Path of ``tools/train.py``.
        options: ``KEY=VALUE`` for ``--cfg-options``.
        say: Takes a line about every job.
    """
    executor = _executor(resources, folder)
    queued = queued_jobs()
    # Numbers of the jobs of this table, oldest first.
    numbers: list[str] = []
    for job in jobs:
        if job.is_finished():
            say(f'{job.name}: finished before')
    for part in slurm_parts(jobs):
        # The whole run may have been submitted before others needed step 0.
        number = queued.get(part.key) or queued.get(Part(part.job).key)
        if number is None:
            waits = _dependencies(part, queued, numbers, resources.max_jobs)
            log = part.job.folder.log
            command = train_command(
                part.job, resources.processes, train_tool, options, part.step
            )
            extra = {'requeue': True, 'kill-on-invalid-dep': 'yes'}
            executor.update_parameters(
                job_name=config_name(part.job.config),
                comment=part.key,
                dependency=','.join(waits) or None,
                additional_parameters={**extra, **resources.options},
            )
            number = executor.submit(Training(command, log)).job_id
            after = f', {", ".join(waits)}' if waits else ''
            say(f'{part.name}: submitted as job {number}{after}; log {log}')
        else:
            say(f'{part.name}: job {number} is queued or runs')
        queued[part.key] = number
        numbers.append(number)


def _dependencies(
    part: Part,
    queued: Mapping[str, str],
    numbers: Sequence[str],
    max_jobs: int | None,
) -> list[str]:
    """Return what Slurm waits for before it starts a job."""
    waits = []
    if part.base is not None:
        waits.append(f'afterok:{queued[part.base.key]}')
    if max_jobs is not None and len(numbers) >= max_jobs:
        waits.append(f'afterany:{numbers[-max_jobs]}')
    return waits


def _executor(resources: Resources, folder: str) -> Any:
    """Return the executor of submitit, or say what is missing."""
    # It is read when submitit is imported.
    os.environ['SUBMITIT_PREEMPT_SIGNAL'] = SIGNAL
    try:
        import cloudpickle
        import submitit
    except ImportError as error:
        raise ValueError(
            f'--cluster slurm needs submitit, but {error.name} is not '
            'installed: pip install "mmseg_rbc[cluster]"'
        ) from None
    if shutil.which('sbatch') is None:
        raise ValueError(
            '--cluster slurm needs sbatch, which is not in PATH: start it on '
            'a machine of the cluster, or use --cluster local'
        )
    # A job need not import this package, only the processes that it starts.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    executor = submitit.SlurmExecutor(folder, max_num_timeout=1000)
    executor.update_parameters(**resources.parameters())
    return executor
