"""Jobs of Slurm; tests/slurm/table.sh runs them on a real one."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import leaf

from mmseg_rbc.engine.benchmark import plan_jobs
from mmseg_rbc.engine.slurm_jobs import (
    Resources,
    Training,
    slurm_parts,
    submit_jobs,
)

METHODS = ('ft', 'mib', 'rbc', 'ewc')


@pytest.fixture
def jobs(tmp_path) -> list:
    """FT trains step 0 for MiB and RBC; EWC has its own."""
    return plan_jobs([leaf(m) for m in METHODS], [0], str(tmp_path / 'runs'))


def finish(job, *steps: int) -> None:
    for step in steps:
        content = dict(job.run.identity(step), metrics={})
        job.folder.step(step).write_finished(content)


def test_shared_step_0_is_a_job_of_its_own(jobs):
    parts = slurm_parts(jobs)
    assert [(p.job, p.step) for p in parts] == [
        (jobs[0], 0),
        *((job, None) for job in jobs),
    ]
    assert [part.base for part in parts] == [None, *[parts[0]] * 3, None]
    assert len({part.key for part in parts}) == 5
    assert parts[0].name == f'{jobs[0].name}, step 0'


def test_only_what_is_missing(jobs):
    finish(jobs[0], 0)
    parts = slurm_parts(jobs)
    assert [part.job for part in parts] == jobs, 'step 0 is there'
    assert {part.base for part in parts} == {None}
    finish(jobs[1], *range(6))
    assert [part.job for part in slurm_parts(jobs)] == [jobs[0], *jobs[2:]]


def test_a_job_needs_step_0_of_a_finished_run_no_more(jobs):
    """Nobody else is left: the first run is one job."""
    for job in jobs[1:3]:
        finish(job, *range(6))
    assert [part.step for part in slurm_parts(jobs)] == [None, None]


def test_resources():
    on_cpu = Resources(gpus=0, cpus=3, hours=0.5).parameters()
    assert 'gpus_per_node' not in on_cpu and 'partition' not in on_cpu
    assert on_cpu['time'] == 30 and on_cpu['cpus_per_task'] == 3
    assert 'export OMP_NUM_THREADS=3' in on_cpu['setup']
    two = Resources('gpu', gpus=2).parameters()
    assert (two['partition'], two['gpus_per_node']) == ('gpu', 2)
    assert two['cpus_per_task'] == 10 and two['nodes'] == 1
    assert not any('OMP' in line for line in two['setup'])


def test_training_appends_to_its_log(tmp_path):
    log = tmp_path / 'run/benchmark.log'
    for word in ('one', 'two'):
        Training([sys.executable, '-c', f'print("{word}")'], str(log))()
    assert log.read_text() == 'one\ntwo\n'
    with pytest.raises(RuntimeError, match=f'exit code 7, see {log}'):
        Training([sys.executable, '-c', 'exit(7)'], str(log))()


@pytest.mark.parametrize('module', ['submitit', 'cloudpickle'])
def test_without_submitit(jobs, monkeypatch, tmp_path, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match=r'pip install "mmseg_rbc\[cluster'):
        submit_jobs(jobs, Resources(), str(tmp_path), 'train.py')


def test_without_slurm(jobs, monkeypatch, tmp_path):
    pytest.importorskip('submitit')
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(ValueError, match='needs sbatch, which is not in PAT'):
        submit_jobs(jobs, Resources(), str(tmp_path), 'train.py')


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> Path:
    """A Slurm that keeps the batch scripts, and their comments in a queue."""
    pytest.importorskip('submitit')
    folder = tmp_path / 'slurm'
    folder.mkdir()
    scripts = dict(
        srun='',
        squeue=f'cat {folder}/queue',
        sbatch=f"""
number=$(($(wc -l < {folder}/queue) + 7))
cp "$1" {folder}/$number.sh
comment=$(sed -n "s/^#SBATCH --comment=//p" "$1" | tr -d "'")
echo "$number $comment" >> {folder}/queue
echo "Submitted batch job $number"
""",
    )
    for name, text in scripts.items():
        (folder / name).write_text(f'#!/bin/sh\n{text}\n')
        (folder / name).chmod(0o755)
    (folder / 'queue').touch()
    monkeypatch.setenv('PATH', f'{folder}:/usr/bin:/bin')
    return folder


def test_dependencies_and_what_is_queued(jobs, slurm, tmp_path):
    said: list[str] = []
    resources = Resources('gpu', 2, max_jobs=3, options=dict(account='mine'))
    args = (jobs, resources, str(tmp_path / 'submitit'), 'train.py')
    submit_jobs(*args, say=said.append)
    texts = [(slurm / f'{n}.sh').read_text() for n in range(7, 12)]
    found = [
        [line[21:] for line in text.splitlines() if '--dependency' in line]
        for text in texts
    ]
    assert found == [
        [],
        ['afterok:7'],
        ['afterok:7'],
        ['afterok:7,afterany:7'],
        ['afterany:8'],
    ]
    for text in texts:
        for option in ('account=mine', 'gpus-per-node=2', 'partition=gpu'):
            assert f'#SBATCH --{option}' in text
        assert '#SBATCH --signal=USR1@120' in text
        assert '#SBATCH --requeue' in text
    numbers = [re.findall(r'submitted as job (\d+)', line) for line in said]
    assert numbers == [['7'], ['8'], ['9'], ['10'], ['11']]
    said.clear()
    submit_jobs(*args, say=said.append)
    assert [line.split(': ')[1] for line in said] == [
        f'job {n} is queued or runs' for n in range(7, 12)
    ]
    # That of RBC has failed, all others are finished.
    (slurm / 'queue').write_text('')
    for job in (jobs[0], jobs[1], jobs[3]):
        finish(job, *range(6))
    said.clear()
    submit_jobs(*args, say=said.append)
    assert [line.partition(': ')[2] for line in said[:3]] == [
        'finished before'
    ] * 3
    assert len(said) == 4 and 'submitted as job 7; log' in said[3]


def test_step_0_of_a_run_that_is_queued_as_a_whole(jobs, slurm, tmp_path):
    """It was submitted alone: those that come later wait for all of it."""
    args = (Resources(), str(tmp_path / 'submitit'), 'train.py')
    submit_jobs(jobs[:1], *args)
    submit_jobs(jobs[:2], *args)
    assert sorted(path.name for path in slurm.glob('*.sh')) == ['7.sh', '8.sh']
    assert '#SBATCH --dependency=afterok:7\n' in (slurm / '8.sh').read_text()


SIGNALED = """
import signal, sys
def stop(*_):
    print('stopped', flush=True)
    sys.exit(138)
signal.signal(signal.SIGUSR1, stop)
print('ready', flush=True)
signal.pause()
"""


def test_stopped_training_is_queued_again(tmp_path):
    """Slurm signals all processes of a job; what goes on is the same."""
    pytest.importorskip('submitit')
    log = tmp_path / 'log'
    training = Training([sys.executable, '-c', SIGNALED], str(log))
    with open(log, 'w') as file:
        training.process = subprocess.Popen(training.command, stdout=file)
    while 'ready' not in log.read_text():
        time.sleep(0.05)
    training.process.send_signal(signal.SIGUSR1)
    again = training.checkpoint()
    assert log.read_text() == 'ready\nstopped\n'
    assert training.process.returncode == 138
    assert again.function.command == training.command
    assert again.function.log == training.log
    assert again.function.process is None
