"""Process groups, and what a Runner shows on the screen."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers import free_port, tool_environment
from mmengine.device import get_device
from mmengine.logging import MessageHub, MMLogger
from mmengine.registry import RUNNERS
from mmengine.runner import Runner
from mmengine.visualization import Visualizer

from mmseg_rbc.engine import run_sequence, step_config
from mmseg_rbc.engine.launch import (
    BriefRunner,
    build_runner,
    close_runner,
    processes,
    with_loader_defaults,
)

GROUPS = """
import os
from pathlib import Path
from types import SimpleNamespace
import torch
import torch.distributed as dist
from mmseg_rbc.engine.launch import processes

def train():
    '''A model in a cycle, as in a Runner and its hooks.'''
    model = torch.nn.Linear(2, 2)
    model = torch.nn.parallel.DistributedDataParallel(model)
    model(torch.ones(1, 2)).sum().backward()
    runner = SimpleNamespace(model=model)
    runner.hook = SimpleNamespace(runner=runner)
    dist.barrier()

def threads():
    names = [p.read_text() for p in Path('/proc/self/task').glob('*/comm')]
    return sum('gloo' in name for name in names)

for number, error in enumerate((None, ValueError, KeyboardInterrupt)):
    os.environ['MASTER_PORT'] = os.environ[f'PORT_{number}']
    try:
        with processes('pytorch', 0, {}):
            print('in', dist.get_backend(), dist.get_world_size())
            train()
            assert threads() > 0
            if error:
                raise error('mine')
    except (ValueError, KeyboardInterrupt) as caught:
        print(type(caught).__name__, caught)
    print('out', dist.is_initialized(), threads(), os.environ['LOCAL_RANK'])
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='looks into /proc')
def test_group_ends_also_after_an_error():
    """A real group of gloo with one process, started three times.

    No thread of it is left, which could abort the process at its exit.
    """
    ports = {f'PORT_{number}': str(free_port()) for number in range(3)}
    done = subprocess.run(
        [sys.executable, '-c', GROUPS],
        capture_output=True,
        text=True,
        check=False,
        env=tool_environment(
            MASTER_ADDR='127.0.0.1', RANK='0', WORLD_SIZE='1', **ports
        ),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines() == [
        *('in gloo 1', 'out False 0 0'),
        *('in gloo 1', 'ValueError mine', 'out False 0 0'),
        *('in gloo 1', 'KeyboardInterrupt mine', 'out False 0 0'),
    ]


def test_one_process_needs_no_group(monkeypatch):
    monkeypatch.setenv('LOCAL_RANK', '3')
    with processes('none', 0, {}):
        assert not torch.distributed.is_initialized()


@pytest.mark.skipif(torch.cuda.is_available(), reason='NCCL is used then')
def test_launchers_that_launched_nothing(monkeypatch):
    monkeypatch.setenv('LOCAL_RANK', '0')
    for name in ('MASTER_ADDR', 'SLURM_PROCID'):
        monkeypatch.delenv(name, raising=False)
    for launcher, sentence in (
        ('pytorch', 'found no MASTER_ADDR, .* use tools/dist_train.sh'),
        ('slurm', 'found no SLURM_PROCID, .* use tools/slurm_train.sh'),
    ):
        with pytest.raises(ValueError, match=sentence):
            with processes(launcher, 0, {}):
                pass


SHARED = """
import os, sys
from pathlib import Path
from mmseg_rbc.engine.launch import check_shared_folder, processes
from mmseg_rbc.utils.errors import plain_errors
folder = Path(sys.argv[1])
rank = 0 if os.fork() else 1
os.environ['RANK'] = str(rank)
with plain_errors(), processes('pytorch', 0, {}):
    check_shared_folder(str(folder / 'shared'))
    # The first process, which wrote it, removes it.
    assert rank or list((folder / 'shared').iterdir()) == []
    check_shared_folder(str(folder / f'of_{rank}'))
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='forks')
def test_work_dir_that_another_process_does_not_see(tmp_path):
    """Two processes; both say it."""
    done = subprocess.run(
        [sys.executable, '-c', SHARED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=tool_environment(
            MASTER_ADDR='127.0.0.1',
            MASTER_PORT=str(free_port()),
            WORLD_SIZE='2',
        ),
    )
    assert done.returncode == 1
    # No line breaks: the two may write theirs at the same time.
    found = re.findall(
        r'error: process 1 on \S+ does not see (\S+), which process 0 on \S+ '
        'writes into: give a --work-dir on a disk that all machines share',
        done.stderr,
    )
    assert sorted(found) == [str(tmp_path / f'of_{rank}') for rank in (0, 1)]
    names = sorted(path.name for path in tmp_path.rglob('*'))
    assert names == ['of_0', 'shared']


SLURM = """
import os
import torch.distributed as dist
from mmseg_rbc.engine.launch import processes
with processes('slurm', 0, {}):
    print(dist.get_backend(), dist.get_rank(), dist.get_world_size())
names = ('MASTER_ADDR', 'MASTER_PORT', 'LOCAL_RANK')
print(*(os.environ[name] for name in names))
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason='NCCL is used then')
def test_task_of_slurm(tmp_path):
    """What srun sets for one task; tests/slurm/run.sh has a real Slurm."""
    tool = tmp_path / 'scontrol'
    tool.write_text('#!/bin/sh\necho 127.0.0.1\necho other\n')
    tool.chmod(0o755)
    number = free_port() % 10000
    env = tool_environment(
        SLURM_PROCID='0',
        SLURM_NTASKS='1',
        SLURM_LOCALID='0',
        SLURM_JOB_ID=str(70000 + number),
        SLURM_NODELIST='n[1-2]',
    )
    env['PATH'] = f'{tmp_path}:{env["PATH"]}'
    env.pop('MASTER_ADDR', None)
    done = subprocess.run(
        [sys.executable, '-c', SLURM],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert done.stdout.splitlines() == [
        'gloo 0 1',
        f'127.0.0.1 {20000 + number} 0',
    ], done.stderr[-2000:]


def test_dumps_are_in_the_file_but_not_on_the_screen(
    tiny_config, tmp_path, capfd
):
    """Two steps of one epoch: a few lines each on the screen."""
    cfg, options = tiny_config(
        'ft', **{'schedule.base.epochs': 1, 'schedule.later.epochs': 1}
    )
    run_sequence(cfg, str(tmp_path), options=options)
    screen = ''.join(capfd.readouterr())
    for word in ('custom_hooks', 'TorchSeedHook', 'System environment'):
        assert word not in screen
        for step in ('step_0', 'step_1'):
            (log,) = (tmp_path / step).glob('*/*.log')
            assert word in log.read_text()
    assert 'step 0/1  Epoch(train)' in screen
    assert 'step 1/1  Epoch(val)' in screen
    # Two tables of 16 and 21 classes with their means are most of it.
    assert len(screen.splitlines()) < 100


@RUNNERS.register_module()
class OwnRunner(Runner):
    """A Runner that a config may name."""


def test_runner_of_a_config(tiny_config, tmp_path):
    cfg, _ = tiny_config('ft')
    cfg = step_config(cfg, 0, str(tmp_path))
    runner = build_runner(cfg)
    assert type(runner) is BriefRunner
    assert runner.work_dir == str(tmp_path / 'step_0')
    cfg.experiment_name = 'own'
    cfg.runner_type = 'OwnRunner'
    assert type(build_runner(cfg)) is OwnRunner
    assert cfg.model.type == 'IncrementalEncoderDecoder', 'it is left as it is'


def test_compiled(tiny_config, tmp_path):
    """Losses stay out of it, so that it traces one network once."""
    cfg, options = tiny_config('rbc')
    cfg.merge_from_dict({'schedule.base.epochs': 1})
    run_sequence(cfg, str(tmp_path), steps=[0], options=options)
    final = str(tmp_path / 'step_0/final.pth')
    cfg = step_config(cfg, 1, str(tmp_path), final, options=options)
    losses = []
    for compiled in (False, dict(backend='eager')):
        cfg.experiment_name = f'{compiled}_{tmp_path.name}'
        cfg.compile = compiled
        runner = build_runner(cfg)
        runner.call_hook('before_run')
        runner.model.init_weights()
        runner.model.pseudo_labeler.thresholds = torch.full((16,), 0.1)
        batch = next(iter(runner.build_dataloader(cfg.train_dataloader)))
        runner._maybe_compile('loss')
        torch.compiler.reset()
        data = runner.model.data_preprocessor(batch, True)
        losses.append(runner.model.loss(**data))
        found = torch._dynamo.utils.counters['stats'].get('unique_graphs', 0)
        assert bool(found) == bool(compiled)
    torch.testing.assert_close(*losses, rtol=0, atol=0)


def test_closed_runner_leaves_nothing_open(tiny_config, tmp_path):
    """Its log is whole, its file closed, and its name is free again."""
    cfg, options = tiny_config('ft')
    cfg = step_config(cfg, 0, str(tmp_path), options=options)
    cfg.experiment_name = name = f'closed_{tmp_path.name}'
    runner = build_runner(cfg)
    runner.val()
    (log,) = tmp_path.glob('step_0/*/*.log')
    files = Path('/proc/self/fd')
    assert log in [path.resolve() for path in files.iterdir()]
    close_runner(runner)
    assert log not in [path.resolve() for path in files.iterdir()]
    assert 'mean of all' in log.read_text()
    assert runner.val_loop.dataloader is None
    for kind in (MMLogger, MessageHub, Visualizer, type(runner.visualizer)):
        assert not kind.check_instance_created(name)


def test_checkpoints_are_whole_or_absent(tiny_config, tmp_path):
    """A kernel that refuses large files is as good as a full disk."""
    cfg, options = tiny_config('ft')
    cfg = step_config(cfg, 0, str(tmp_path), options=options)
    cfg.experiment_name = f'atomic_{tmp_path.name}'
    runner = build_runner(cfg)
    assert len(runner.build_train_loop(cfg.train_cfg).dataloader) > 1
    small = dict(save_optimizer=False, save_param_scheduler=False)
    runner.save_checkpoint(str(tmp_path), 'a.pth', **small)
    whole = (tmp_path / 'a.pth').read_bytes()
    assert torch.load(tmp_path / 'a.pth', weights_only=True)['state_dict']
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"large: '.*/a\.pth'$"):
            runner.save_checkpoint(str(tmp_path), 'a.pth', **small)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / 'a.pth').read_bytes() == whole
    assert not list(tmp_path.glob('*.part'))
    close_runner(runner)


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        # Workers that stay, and torch's two batches of each; memory can be
        # pinned, and is asked to be, where there is an accelerator only.
        (dict(num_workers=1), (True, 2)),
        (dict(num_workers=0), (False, None)),
        (dict(num_workers=1, persistent_workers=False), (False, 2)),
        (dict(num_workers=1, prefetch_factor=5), (True, 5)),
    ],
)
def test_defaults_of_the_training_loader(
    tiny_config, tmp_path, given, expected
):
    cfg, _ = tiny_config('ft')
    cfg.train_dataloader.pop('persistent_workers', None)
    cfg.train_dataloader.update(given)
    runner = build_runner(step_config(cfg, 0, str(tmp_path)))
    loader = runner.build_dataloader(runner._train_dataloader, seed=0)
    assert (loader.persistent_workers, loader.prefetch_factor) == expected
    assert loader.pin_memory == (get_device() != 'cpu')
    close_runner(runner)


def test_pinned_memory_is_the_choice_of_the_config():
    for value in (True, False):
        loader = with_loader_defaults(dict(pin_memory=value))
        assert loader == dict(pin_memory=value, persistent_workers=False)
