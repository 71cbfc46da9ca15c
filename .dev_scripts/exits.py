"""Run a short sequence with several processes, again and again.

    python .dev_scripts/exits.py      # 20 runs beside a busy process, minutes

Each run is a ``torchrun`` of ``tools/train.py`` with gloo, while another
process takes all the time of a core that it can get. All must end with exit
code 0; it says how many did.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kill import CONFIG, ROOT, TRAIN
from soak import write_data

BASE = 'configs/rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py'


def run_once(folder: Path, number: int, processes: int) -> int:
    """Run the sequence in a folder of its own, and return its exit code."""
    command = [sys.executable, '-m', 'torch.distributed.run', '--standalone']
    command += [f'--nproc_per_node={processes}', TRAIN]
    command += [str(folder / 'config.py'), '--launcher', 'pytorch']
    command += ['--work-dir', str(folder / str(number))]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS='1'),
        check=False,
    )
    if done.returncode:
        print(done.stdout[-4000:])
    return done.returncode


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--processes', type=int, default=2)
    args = parser.parse_args()
    busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    codes = []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_data(folder / 'data', 4)
            text = CONFIG.format(
                base=str(ROOT / BASE), data=str(folder / 'data')
            )
            (folder / 'config.py').write_text(text)
            for number in range(args.runs):
                codes.append(run_once(folder, number, args.processes))
                clean = codes.count(0)
                print(f'{clean} of {len(codes)} ended cleanly', flush=True)
    finally:
        busy.kill()
        busy.wait()
    return len(codes) - codes.count(0)


if __name__ == '__main__':
    sys.exit(main())
