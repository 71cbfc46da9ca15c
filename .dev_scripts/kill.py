"""Kill a short sequence at every write and at random, and compare its end.

    python .dev_scripts/kill.py      # RBC and EWC, minutes
    python .dev_scripts/kill.py --methods ewc --kills 1 --at 'rename .*final'

First ``tools/train.py`` runs undisturbed: three steps, with data of its own
that it has to scan. Then the same command, with ``--resume``, is killed by
SIGKILL and started again until it ends:

- at every write: right before a file is opened for writing, renamed or
  removed, or a folder is made. Of the file that was being written only the
  first half is left, as by a kill in the middle. A process dies at the first
  such moment that no process before it died at: so every moment comes once,
  in a row of processes that each go on from what the one before left;
- at random moments, ``--kills`` of them.

Weights and importance of all steps must be bit-equal to those of the
undisturbed run, and all results equal but for times and memory. Each process
is a fork of this one, which has imported torch already, and runs
``tools/train.py`` as a program; nothing in ``mmseg_rbc`` knows of it.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import runpy
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from soak import write_data

import mmseg_rbc  # noqa: F401

ROOT = Path(__file__).parents[1]
TRAIN = str(ROOT / 'tools/train.py')
BASE = 'configs/*/{}_fcn-tiny_shapes-15-1-overlapped.py'
CONFIG = """
_base_ = {base!r}
crop_size = (32, 32)
continual = dict(
    data_root={data!r},
    task=[['a', 'b'], ['c'], ['d']],
    metainfo=dict(classes=['background', 'a', 'b', 'c', 'd']),
)
schedule = dict(
    base=dict(epochs=2, batch_size=4), later=dict(epochs=2, batch_size=4)
)
recipe = dict(equal_steps=False)
default_hooks = dict(checkpoint=dict(interval=1))
train_dataloader = dict(num_workers=1, dataset=dict(ann_file='train.txt'))
val_dataloader = dict(dataset=dict(ann_file='val.txt'))
"""
CHANGES = ('os.rename', 'os.remove', 'os.mkdir')
# Times and process ids in names.
VARYING = re.compile(r'\d{8}_\d{6}|\.\d+(?=\.part)')
# Others may work on the repository meanwhile.
UNCOMPARED = ('seconds', 'resumed', 'resumed_with', 'peak_memory_mb', 'git')


class Case:
    """A sequence of one method, with data of its own.

    Args:
        folder: A folder to make anew. It is the same for all cases, because
            paths are part of what a step says of its settings.
        method: Such as ``rbc``.
    """

    def __init__(self, folder: Path, method: str) -> None:
        self.files = folder / 'files'
        self.run = self.files / 'run'
        self.output = folder / 'output.txt'
        self.death = folder / 'death.json'
        self.config = folder / 'config.py'
        data = self.files / 'data'
        shutil.rmtree(folder, ignore_errors=True)
        write_data(data, 4)
        (base,) = ROOT.glob(BASE.format(method))
        self.config.write_text(CONFIG.format(base=str(base), data=str(data)))

    def start(self, hook: Callable[[str, tuple], None] | None = None) -> int:
        """Start a process that trains, and return its id.

        Args:
            hook: An audit hook for it.
        """
        process = os.fork()
        if process:
            return process
        code = 1
        try:
            with open(self.output, 'ab') as output:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
            if hook:
                sys.addaudithook(hook)
            work_dir = ['--work-dir', str(self.run)]
            sys.argv = [TRAIN, str(self.config), '--resume', *work_dir]
            runpy.run_path(TRAIN, run_name='__main__')
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)

    def has_ended(self, process: int) -> bool:
        """Wait for a process: whether it ended by itself, not by SIGKILL."""
        status = os.waitpid(process, 0)[1]
        if status and status != signal.SIGKILL:
            print(self.output.read_text()[-4000:])
            raise SystemExit(f'status {status} after a kill: see above')
        return status == 0

    def results(self) -> dict[str, Any]:
        """Return what kills must not change, by file."""
        found: dict[str, Any] = {}
        for path in sorted(self.run.glob('step_*/*')):
            if path.suffix == '.json':
                content = json.loads(path.read_text())
                if isinstance(content, dict):
                    for key in UNCOMPARED:
                        content.pop(key, None)
            elif path.name in ('final.pth', 'importance.pth'):
                content = torch.load(path, weights_only=True)
                content.pop('meta', None)
            else:
                continue
            found[f'{path.parent.name}/{path.name}'] = content
        summary = json.loads((self.run / 'summary.json').read_text())
        found['summary.json'] = [step['metrics'] for step in summary['steps']]
        return found


class DieOnce:
    """An audit hook: die before the first write that nobody died at.

    Args:
        case: Whose files are watched.
        at: Pattern of the names of writes to die at.
        known: Names of writes that a process died at before.
    """

    def __init__(self, case: Case, at: str, known: list[str]) -> None:
        self.case = case
        self.at = at
        self.known = known
        # The file that is being written.
        self.written = ''

    def __call__(self, event: str, args: tuple) -> None:
        """Look at what Python is about to do."""
        flags = args[2] if event == 'open' else 0
        writes = flags & (os.O_WRONLY | os.O_RDWR)
        if not (writes or event in CHANGES) or isinstance(args[0], int):
            return
        path = os.path.abspath(os.fsdecode(args[0]))
        if not path.startswith(str(self.case.files)):
            return
        name = os.path.relpath(path, self.case.files)
        name = f'{event} {VARYING.sub("", name)}'
        if name not in self.known and re.search(self.at, name):
            self._die(name)
        whole = flags & os.O_APPEND or event == 'os.rename'
        self.written = '' if whole else path if writes else self.written

    def _die(self, name: str) -> None:
        written, self.written = self.written, ''
        death = dict(name=name, written=written)
        self.case.death.write_text(json.dumps(death))
        os.kill(os.getpid(), signal.SIGKILL)


def kill_at_writes(case: Case, at: str) -> int:
    """Kill once at every write that matches, and return how often."""
    known: list[str] = []
    while not case.has_ended(case.start(DieOnce(case, at, known))):
        death = json.loads(case.death.read_text())
        print(f'killed before {death["name"]}', flush=True)
        known.append(death['name'])
        written = Path(death['written'])
        if written.is_file():
            os.truncate(written, written.stat().st_size // 2)
    return len(known)


def kill_at_random(case: Case, kills: int, longest: float) -> int:
    """Kill at random moments; return how often before it ended."""
    for count in range(kills):
        process = case.start()
        time.sleep(random.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        if case.has_ended(process):
            return count
    if not case.has_ended(case.start()):
        raise SystemExit('killed by somebody else')
    return kills


def is_same(a: Any, b: Any) -> bool:
    """Whether two results are equal, tensors bit by bit."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_same(a[k], b[k]) for k in a)
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    return a == b


def differences(case: Case, expected: dict[str, Any]) -> list[str]:
    """Return the files that differ from those of the undisturbed run."""
    found = case.results()
    names = sorted(found.keys() | expected.keys())
    bad = [n for n in names if not is_same(found.get(n), expected.get(n))]
    return bad + [str(path) for path in case.files.rglob('*.part')]


def kill_method(folder: Path, method: str, kills: int, at: str) -> list[str]:
    """Kill runs of a method in all ways; return what differs."""
    whole = Case(folder, method)
    begin = time.monotonic()
    if not whole.has_ended(whole.start()):
        raise SystemExit('killed by somebody else')
    seconds = time.monotonic() - begin
    expected = whole.results()
    print(f'{method}: {len(expected)} files in {seconds:.1f} s', flush=True)
    case = Case(folder, method)
    count = kill_at_writes(case, at)
    bad = differences(case, expected)
    print(f'{method}: {count} kills at writes, differ: {bad}', flush=True)
    count = 0
    while count < kills:
        case = Case(folder, method)
        count += kill_at_random(case, kills - count, seconds)
        bad += differences(case, expected)
    print(f'{method}: {count} kills at random, differ: {bad}', flush=True)
    return bad


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--methods', nargs='+', default=['rbc', 'ewc'])
    parser.add_argument('--kills', type=int, default=20)
    parser.add_argument('--at', default='', help='pattern of writes')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)
    # MMEngine collects garbage for every data set: most of a tiny step.
    gc.freeze()
    bad = []
    for method in args.methods:
        with tempfile.TemporaryDirectory() as folder:
            case = Path(folder) / 'case'
            bad += kill_method(case, method, args.kills, args.at)
    print('some runs ended otherwise' if bad else 'all runs ended alike')
    return len(bad)


if __name__ == '__main__':
    sys.exit(main())
