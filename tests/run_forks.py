"""Run tools with several processes each; helpers.run_forked calls it.

Usage: ``run_forks.py '[[2, ["train.py", "CONFIG", ...]], ...]'``. All of them
are forks of this one: to import everything takes longer than a tiny run.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import sys
import traceback

from helpers import REPO, free_port

# What the tools import when they run.
import mmseg_rbc.engine.sequence
import mmseg_rbc.reporting.tables  # noqa: F401


def start(rank: int, world_size: int, port: int, args: list[str]) -> int:
    """Start a process, and return its id."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        names = dict(RANK=rank, LOCAL_RANK=rank, WORLD_SIZE=world_size)
        names.update(MASTER_ADDR='127.0.0.1', MASTER_PORT=port)
        os.environ.update({name: str(names[name]) for name in names})
        sys.argv = [str(REPO / 'tools' / args[0]), *args[1:]]
        sys.argv += ['--launcher', 'pytorch'] * (world_size > 1)
        runpy.run_path(sys.argv[0], run_name='__main__')
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def main(runs: str) -> None:
    """Run them, and print the exit code of every process."""
    # MMEngine collects garbage for every data set: most of a tiny step.
    gc.freeze()
    codes = []
    for world_size, args in json.loads(runs):
        port = free_port()
        group = [start(r, world_size, port, args) for r in range(world_size)]
        codes.append([os.waitpid(process, 0)[1] for process in group])
    print(f'exit codes: {codes}')


if __name__ == '__main__':
    main(*sys.argv[1:])
