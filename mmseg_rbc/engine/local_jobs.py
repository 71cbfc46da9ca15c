"""Run many sequences on one machine."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from mmseg_rbc.runs import WorkDir
from mmseg_rbc.utils.cpu import threads_of_a_job

from .benchmark import Job, train_command

PROGRESS_SECONDS = 30.0


def job_command(
    job: Job,
    device: str,
    train_tool: str,
    options: Sequence[str] = (),
    threads: int = 1,
) -> tuple[list[str], dict[str, str]]:
    """Return command and environment of a job.

    Args:
        job: What to run.
        device: ``cpu``, the number of a GPU, or several as in ``0,1``.
        train_tool: Path of ``tools/train.py``.
        options: ``KEY=VALUE`` for ``--cfg-options``.
        threads: Of a job on the CPU.
    """
    on_cpu = device == 'cpu'
    environment = dict(
        os.environ, CUDA_VISIBLE_DEVICES='' if on_cpu else device
    )
    if on_cpu:
        environment['OMP_NUM_THREADS'] = str(threads)
    processes = 1 if on_cpu else len(device.split(','))
    return train_command(job, processes, train_tool, options), environment


@dataclass
class Process:
    """A job that runs.

    Attributes:
        job: The job.
        device: See :func:`job_command`.
        process: Its process.
        start: When it started.
        num_done: Finished steps that were reported.
        reported: When something was reported last.
    """

    job: Job
    device: str
    process: subprocess.Popen
    start: float
    num_done: int
    reported: float

    def progress(self) -> str | None:
        """Return a line if there is news, or has not been one for long."""
        results, now = self.job.results(), time.monotonic()
        if len(results) > self.num_done:
            self.num_done, self.reported = len(results), now
            metrics = results[-1]['metrics']
            means = ', '.join(
                f'{group} {metrics[f"mIoU_{group}"]:.1f}'
                for group in ('old', 'new', 'all')
                if f'mIoU_{group}' in metrics
            )
            what = f'done, mIoU {means}'
            return self._line(self.num_done - 1, what)
        if now > self.reported + PROGRESS_SECONDS:
            self.reported = now
            return self._line(self.num_done, 'runs')
        return None

    def _line(self, step: int, what: str) -> str:
        log = last_scalars(self.job.folder, step)
        text = f'{self.job.name}: step {step}/{self.job.num_steps - 1} {what}'
        if what == 'runs' and log:
            # A loop that counts iterations logs no epoch.
            unit = 'epoch' if 'epoch' in log else 'iter'
            text += f', {unit} {log[unit]}'
        if 'sequence_eta' in log:
            text += f', eta {datetime.timedelta(seconds=log["sequence_eta"])}'
        return text

    def end(self) -> str:
        """Return a line about how it ended."""
        minutes = (time.monotonic() - self.start) / 60
        if self.process.returncode == 0:
            return f'{self.job.name}: finished in {minutes:.1f} min'
        return (
            f'{self.job.name}: failed after {minutes:.1f} min with exit code '
            f'{self.process.returncode}, see {self.job.folder.log}'
        )


def last_scalars(folder: WorkDir, step: int) -> dict[str, Any]:
    """Return what a step logged last of its training, empty if nothing."""
    for path in reversed(folder.step(step).scalars()):
        with open(path) as file:
            for line in reversed(file.readlines()):
                # Evaluation has no "iter"; the last line may be half there.
                if '"iter"' in line and line.endswith('}\n'):
                    return json.loads(line)
    return {}


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
        devices: See :func:`job_command`; one may be listed several times.
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
    threads = threads_of_a_job(list(devices).count('cpu'))
    if waiting and 'cpu' in devices:
        what = 'thread' if threads == 1 else 'threads'
        say(f'each job on the CPU has {threads} {what} (OMP_NUM_THREADS)')
    running: list[Process] = []
    try:
        while waiting or running:
            for job in [j for j in waiting if _lost_base(j, failed)]:
                waiting.remove(job)
                failed.append(job)
                say(f'{job.name}: left out, its step 0 failed')
            for job in [j for j in waiting if _can_start(j)][: len(free)]:
                waiting.remove(job)
                running.append(
                    _start(job, free.pop(0), train_tool, options, threads)
                )
                say(
                    f'{job.name}: started on {running[-1].device}, log '
                    f'{job.folder.log}; {len(waiting)} of {total} wait'
                )
            for line in filter(None, [entry.progress() for entry in running]):
                say(line)
            for entry in [e for e in running if e.process.poll() is not None]:
                running.remove(entry)
                free.append(entry.device)
                say(entry.end())
                if entry.process.returncode:
                    failed.append(entry.job)
            time.sleep(0.2)
    finally:
        for entry in running:
            entry.process.terminate()
        for entry in running:
            entry.process.wait()
            say(f'{entry.job.name}: stopped; the same command continues it')
    return failed


def _can_start(job: Job) -> bool:
    return job.shares is None or job.shares.folder.step(0).is_finished()


def _lost_base(job: Job, failed: Sequence[Job]) -> bool:
    return job.shares in failed and not _can_start(job)


def _start(
    job: Job,
    device: str,
    train_tool: str,
    options: Sequence[str],
    threads: int,
) -> Process:
    command, environment = job_command(
        job, device, train_tool, options, threads
    )
    os.makedirs(job.folder.path, exist_ok=True)
    with open(job.folder.log, 'a') as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment
        )
    now = time.monotonic()
    return Process(job, device, process, now, len(job.results()), now)
