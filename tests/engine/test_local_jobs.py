"""Runs on one machine; test_run_benchmark.py runs them for real."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import leaf

from mmseg_rbc.engine.benchmark import plan_jobs
from mmseg_rbc.engine.local_jobs import (
    Process,
    job_command,
    last_scalars,
    run_jobs,
)
from mmseg_rbc.runs import WorkDir


def test_command():
    first, second = plan_jobs([leaf('ft'), leaf('mib')], [3], 'work')
    command, environment = job_command(second, '0,2', 'train.py', ['a.b=1'])
    line = ' '.join(command)
    assert '-m torch.distributed.run --standalone --nproc_per_node=2' in line
    assert f'--init-from {first.folder.path} --launcher pytorch' in line
    assert line.endswith('--cfg-options a.b=1 randomness.seed=3')
    assert environment['CUDA_VISIBLE_DEVICES'] == '0,2'
    command, environment = job_command(first, 'cpu', 'train.py')
    assert '--launcher' not in command and '--init-from' not in command
    assert environment['CUDA_VISIBLE_DEVICES'] == '', 'no GPU for cpu'
    assert environment['OMP_NUM_THREADS'] == '1'
    assert '--resume' in command


@pytest.mark.parametrize(
    'threads, sentence', [('1', '1 thread'), ('2', '2 threads')]
)
def test_failed_step_0_stops_those_that_need_it(
    tmp_path, monkeypatch, threads, sentence
):
    """The train tool does not exist, so the first job fails at once."""
    jobs = plan_jobs([leaf('ft'), leaf('mib'), leaf('ewc')], [0], tmp_path)
    said = []
    monkeypatch.setenv('OMP_NUM_THREADS', threads)
    failed = run_jobs(
        jobs, ['cpu'], str(tmp_path / 'none.py'), say=said.append
    )
    assert set(failed) == set(jobs)
    assert f'each job on the CPU has {sentence} (OMP_NUM_THREADS)' in said
    assert any('mib' in line and 'its step 0 failed' in line for line in said)
    assert any('ewc' in line and 'exit code 2' in line for line in said)
    assert "can't open file" in Path(jobs[0].folder.log).read_text()


def write_scalars(folder: Path, text: str) -> None:
    path = folder / 'vis_data/scalars.json'
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_last_scalars_are_those_of_training(tmp_path):
    """Not of an evaluation, nor a line that is half written."""
    folder = WorkDir(str(tmp_path))
    assert last_scalars(folder, 0) == {}
    write_scalars(tmp_path / 'step_0/20260101_1', '{"loss": 3, "iter": 1}\n')
    assert last_scalars(folder, 0) == dict(loss=3, iter=1)
    write_scalars(
        tmp_path / 'step_0/20260101_2',
        '{"iter": 2, "loss": 1}\n{"mIoU": 50, "step": 2}\n{"iter": 3, "lo',
    )
    assert last_scalars(folder, 0) == dict(iter=2, loss=1)


def test_what_is_said_about_a_job(tmp_path):
    """Each finished step once, and nothing while nothing is new."""
    (job,) = plan_jobs([leaf('ft')], [0], str(tmp_path))
    child = SimpleNamespace(returncode=1)
    # Reported in the future: no line only because time has passed.
    process = Process(job, 'cpu', child, 0, num_done=0, reported=math.inf)
    assert process.progress() is None
    metrics = dict(mIoU=9.0, mIoU_old=8.76, mIoU_all=9.0)
    job.folder.step(0).write_finished(
        dict(job.run.identity(0), metrics=metrics)
    )
    write_scalars(
        Path(job.folder.step(0).path) / 'stamp',
        '{"epoch": 30, "iter": 90, "sequence_eta": 65}\n',
    )
    name = 'ft_deeplabv3-r101-d16_voc12aug-15-1-overlapped, seed 0'
    assert process.progress() == (
        f'{name}: step 0/5 done, mIoU old 8.8, all 9.0, eta 0:01:05'
    )
    process.reported = math.inf
    assert process.progress() is None
    eta = '"sequence_eta": 3600}\n'
    for stamp, line, place in (
        ('a', '{"epoch": 7, "iter": 70, ', 'epoch 7'),
        ('b', '{"iter": 80, ', 'iter 80'),
    ):
        write_scalars(Path(job.folder.step(1).path) / stamp, line + eta)
        process.reported = -math.inf
        assert process.progress() == (
            f'{name}: step 1/5 runs, {place}, eta 1:00:00'
        )
    assert re.fullmatch(
        rf'{name}: failed after [\d.]+ min with exit code 1, see \S+\.log',
        process.end(),
    )
    child.returncode = 0
    assert re.fullmatch(rf'{name}: finished in [\d.]+ min', process.end())
