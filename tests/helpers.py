"""Functions and hooks that several tests of whole runs share."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

from mmseg_rbc.runs import StepDir, WorkDir
from mmseg_rbc.utils.files import write_json, write_text

TESTS = Path(__file__).parent
REPO = TESTS.parent
CONFIGS = REPO / 'configs'

# What tools import when they run.
PRELOADED = [
    'helpers',
    'mmseg_rbc.apis',
    'mmseg_rbc.engine.benchmark',
    'mmseg_rbc.engine.sequence',
    'mmseg_rbc.reporting.report',
]

# The tasks of the published tables, by number of foreground classes.
BENCHMARK_TASKS = {
    20: ('offline', '19-1', '15-5', '15-1', '10-1', '5-3', '2-2'),
    150: ('offline', '100-50', '100-10', '100-5', '50-50'),
}


def leaf(
    method: str,
    task: str = '15-1-overlapped',
    model: str = 'deeplabv3-r101-d16_voc12aug',
) -> str:
    """Return the path of a config."""
    return str(CONFIGS / method / f'{method}_{model}-{task}.py')


def make_tiny_config(
    root: str, method: str = 'rbc', **options
) -> tuple[Config, dict]:
    """Return a config of two quick steps (15-5), and its options."""
    name = f'{method}_fcn-tiny_shapes-15-1-overlapped.py'
    (path,) = CONFIGS.glob(f'*/{name}')
    cfg = Config.fromfile(path)
    merged = {
        'continual.task': '15-5',
        'continual.data_root': root,
        'schedule.base': dict(lr=0.01, epochs=2, batch_size=8),
        'schedule.later': dict(lr=0.01, epochs=2, batch_size=8),
        'crop_size': (32, 32),
        # The steps are shorter than the warm-up, and equally long.
        'recipe.warmup_iters': None,
        'recipe.equal_steps': None,
        'recipe.clip_norm': 5.0,
        'default_hooks.checkpoint.interval': 1,
        **options,
    }
    cfg.merge_from_dict(merged)
    return cfg, merged


def weights(path: Path) -> dict:
    return torch.load(path, weights_only=True)['state_dict']


def assert_equal_weights(a: dict, b: dict, tolerance: float = 0) -> None:
    assert a.keys() == b.keys()
    for key in a:
        torch.testing.assert_close(a[key], b[key], rtol=0, atol=tolerance)


def logged(step_dir: Path) -> list[dict]:
    """Return the lines of the training log of a step, oldest first."""
    lines = []
    for path in sorted(step_dir.glob('*/vis_data/scalars.json')):
        lines += map(json.loads, path.read_text().splitlines())
    return [line for line in lines if 'loss' in line]


class Stop(Exception):
    pass


@HOOKS.register_module()
class StopHook(Hook):
    """Stop after an iteration, before anything is saved."""

    priority = 'VERY_HIGH'

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def after_train_iter(self, runner, *args, **kwargs) -> None:
        if runner.iter + 1 == self.iteration:
            raise Stop


@HOOKS.register_module()
class Snapshot(Hook):
    """Save what student and teacher are before and after training."""

    def before_train(self, runner) -> None:
        self._save(runner, 'before.pth')

    def after_train(self, runner) -> None:
        self._save(runner, 'after.pth')

    def _save(self, runner, name: str) -> None:
        networks = dict(student=runner.model, teacher=runner.model.teacher)
        states = {k: net.state_dict() for k, net in networks.items() if net}
        torch.save(states, Path(runner.work_dir) / name)


@HOOKS.register_module()
class RecordLosses(Hook):
    """Write the losses of every iteration of every process."""

    def __init__(self) -> None:
        self.losses: list[dict] = []

    def after_train_iter(self, runner, batch_idx, data_batch, outputs) -> None:
        self.losses.append({k: float(v) for k, v in outputs.items()})
        path = Path(runner.work_dir) / f'losses_{runner.rank}.json'
        path.write_text(json.dumps(self.losses))


@HOOKS.register_module()
class KillOne(Hook):
    """Kill the process ``KILL_RANK`` before an iteration of step 1."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def before_train_iter(self, runner, *args, **kwargs) -> None:
        rank = int(os.environ.get('KILL_RANK', -1))
        step = Path(runner.work_dir)
        here = (step.name, runner.rank, runner.iter)
        if here == ('step_1', rank, self.iteration):
            (step / 'killed').touch()
            os.kill(os.getpid(), signal.SIGKILL)


@HOOKS.register_module()
class HoldHere(Hook):
    """Hold process 0 before an iteration of step 1.

    It says so by a file ``held`` in the work dir, and goes on when ``hold``
    is gone; without such a file it does nothing.
    """

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def before_train_iter(self, runner, *args, **kwargs) -> None:
        step = Path(runner.work_dir)
        here = (step.name, runner.rank, runner.iter)
        if here != ('step_1', 0, self.iteration):
            return
        while (step.parent / 'hold').exists():
            (step.parent / 'held').touch()
            time.sleep(0.1)


def run_tool(
    tool: str | Path,
    *args: object,
    processes: int = 1,
    expected: int = 0,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a tool as a user does, with the package and tests of this folder.

    A Python file runs in forks of a process that has imported what tools
    import, which takes longer than a tiny run.

    Args:
        tool: A Python file or shell script, below ``tools/`` if relative.
        args: Its arguments.
        processes: How many run the Python file, as torchrun starts them.
            Above 1 what is below ``tools/`` gets a ``--launcher``.
        expected: The exit code of each.
        env: Further variables of the environment.
        cwd: Where to run it.

    Returns:
        What it printed, errors last.
    """
    argv = [str(REPO / 'tools' / tool), *map(str, args)]
    if processes > 1 and not Path(tool).is_absolute():
        argv += ['--launcher', 'pytorch']
    environment = tool_environment(**(env or {}))
    if argv[0].endswith('.sh'):
        done = subprocess.run(
            ['bash', *argv],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=environment,
        )
        printed, codes = done.stdout + done.stderr, [done.returncode]
    else:
        printed, codes = run_forks(argv, environment, cwd, processes)
    assert codes == [expected] * processes, f'{codes}\n{printed[-4000:]}'
    return printed


def run_forks(
    argv: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | None,
    processes: int,
) -> tuple[str, list[int | None]]:
    """Run a Python file in forks; return what they printed, and their codes.

    Args:
        argv: The file and its arguments.
        environment: Of the forks.
        cwd: Where they run.
        processes: Above 1 each finds its rank in its environment.
    """
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(PRELOADED)
    names = dict(MASTER_ADDR='127.0.0.1', MASTER_PORT=environment['PORT'])
    names['WORLD_SIZE'] = str(processes)
    with TemporaryDirectory() as folder:
        outputs = [str(Path(folder, name)) for name in ('out', 'err')]
        forks = []
        for rank in map(str, range(processes)):
            more = dict(names, RANK=rank, LOCAL_RANK=rank)
            own = {**environment, **(more if processes > 1 else {})}
            args = (argv, own, cwd, outputs)
            forks.append(context.Process(target=run_file, args=args))
            forks[-1].start()
        for fork in forks:
            fork.join()
        printed = ''.join(Path(output).read_text() for output in outputs)
    return printed, [fork.exitcode for fork in forks]


def run_file(
    argv: list[str],
    environment: dict[str, str],
    cwd: Path | None,
    outputs: Sequence[str],
) -> None:
    """Run a Python file as the interpreter would, in this process."""
    for number, output in enumerate(outputs, 1):
        mode = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        os.dup2(os.open(output, mode), number)
    os.environ.clear()
    os.environ.update(environment)
    # Read when torch was imported.
    torch.set_num_threads(int(environment['OMP_NUM_THREADS']))
    if cwd:
        os.chdir(cwd)
    sys.argv = list(argv)
    paths = environment['PYTHONPATH'].split(os.pathsep)
    sys.path[:0] = [str(Path(argv[0]).parent), *paths]
    # MMEngine collects garbage for every data set: most of a tiny step.
    gc.freeze()
    runpy.run_path(argv[0], run_name='__main__')


def tool_environment(**more: str) -> dict[str, str]:
    """Return an environment with this Python, package and a free port."""
    path = [str(Path(sys.executable).parent), os.environ.get('PATH', '')]
    imports = [str(REPO), str(TESTS), more.pop('PYTHONPATH', '')]
    return dict(
        os.environ,
        PATH=os.pathsep.join(path),
        PYTHONPATH=os.pathsep.join(filter(None, imports)),
        **{'OMP_NUM_THREADS': '1', 'PORT': str(free_port()), **more},
    )


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


NAMES = ['background', 'cat', 'dog', 'cow', 'bus']
# What the RBC paper trained, as far as it is compared.
PAPERS_CONFIG = """
train_dataloader = dict(
    dataset=dict(
        type='RepeatDataset',
        dataset=dict(
            type='ContinualVOCDataset',
            pipeline=[
                dict(type='LoadImageFromFile'),
                dict(type='RandomResizedCrop', crop_size=[512, 512]),
                dict(type='Other', crop_size=3)])))
model = dict(
    backbone=dict(type='ResNet', depth=101),
    decode_head=dict(type='ASPPHead'))
"""


def write_run(
    path: Path,
    classes: Sequence[str] = NAMES,
    sizes: Sequence[int] = (3, 4, 5),
    task: str = '2-1',
    level: float = 50.0,
    seed: object = 0,
    iou: Mapping[str, object] | None = None,
    config: str = 'a = 1\n',
    **finished: object,
) -> WorkDir:
    """Write a work dir as tools/train.py leaves it, without networks.

    Step t knows the first ``sizes[t]`` classes; the IoU of class i in it is
    ``level - 10 t + i``, or what ``iou`` says.
    """
    folder = WorkDir(str(path))
    done = dict(
        seed=seed,
        seconds=61.0,
        peak_memory_mb=100,
        versions=dict(torch='2', device='cpu'),
    )
    for step, size in enumerate(sizes):
        files = folder.step(step)
        values = {c: level - 10 * step + i for i, c in enumerate(classes)}
        metrics = dict(
            task=task,
            setting='overlapped',
            step=step,
            num_base=sizes[0] if len(sizes) > 1 else 3,
            IoU={c: dict(values, **(iou or {}))[c] for c in classes[:size]},
        )
        write_json(files.metrics, metrics)
        write_text(files.config, config)
        _write_log(files)
        files.write_finished(dict(done, step=step, **finished))
    folder.write_summary(task, len(sizes), [])
    return folder


def _write_log(files: StepDir) -> None:
    """Write losses 1 and 1/2 as MMEngine does; a killed run ends like it."""
    lines = [dict(iter=1, loss=1.0), dict(iter=2, loss=0.5), dict(mIoU=3)]
    text = '\n'.join(map(json.dumps, lines)) + '\n{"iter": 3, "lo'
    write_text(f'{files.path}/stamp/vis_data/scalars.json', text)
    assert len(files.scalars()) == 1
