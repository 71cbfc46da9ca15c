"""Run a sequence of many tiny steps, and fail if anything grows.

    python .dev_scripts/soak.py                # 50 steps of RBC, some minutes
    python .dev_scripts/soak.py --steps 8      # the short form of the tests

One process runs all steps, with a worker that loads data. At the start of
every step it counts memory, Python objects, open files, threads and processes.
From step 5 on none of them may grow by more than ``ALLOWED`` a step.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.registry import HOOKS, init_default_scope
from PIL import Image

import mmseg_rbc  # noqa: F401
from mmseg_rbc.engine import run_sequence

ROOT = Path(__file__).parents[1]
CONFIG = 'configs/{0}/{0}_fcn-tiny_shapes-15-1-overlapped.py'
FIRST = 5
SIZE = 32
# The network gets a class each step.
ALLOWED = dict(memory_kb=100, objects=100, files=0, threads=0, processes=0)
# Allowed in any case: threads warm up their memory, and torch forgets shared
# tensors by the hundred.
SLACK = dict(memory_kb=4000, objects=1000)


@HOOKS.register_module()
class CountHook(Hook):
    """Count what the process holds when a step begins."""

    found: list[dict[str, int]] = []

    def before_run(self, runner: object) -> None:
        """Count after the garbage of the step before is gone."""
        gc.collect()
        self.found.append(count())
        print(json.dumps(dict(step=len(self.found) - 1, **self.found[-1])))


def count() -> dict[str, int]:
    """Return what this process holds."""
    me = Path('/proc/self')
    children = me / f'task/{os.getpid()}/children'
    resident = int((me / 'statm').read_text().split()[1])
    return dict(
        memory_kb=resident * os.sysconf('SC_PAGE_SIZE') // 1024,
        objects=len(gc.get_objects()),
        files=len(os.listdir(me / 'fd')),
        threads=len(os.listdir(me / 'task')),
        processes=len(children.read_text().split()),
    )


def write_data(root: Path, num_classes: int) -> None:
    """Write four images of every class, with a square of it, and lists."""
    names = []
    for folder in ('JPEGImages', 'SegmentationClassAug'):
        (root / folder).mkdir(parents=True)
    for label in range(1, num_classes + 1):
        for copy in range(4):
            rng = np.random.default_rng([label, copy])
            image = rng.integers(256, size=(SIZE, SIZE, 3), dtype=np.uint8)
            mask = np.zeros((SIZE, SIZE), np.uint8)
            mask[8:24, 8:24] = label
            names.append(f'{label}_{copy}')
            path = root / f'JPEGImages/{names[-1]}.jpg'
            Image.fromarray(image).save(path)
            path = root / f'SegmentationClassAug/{names[-1]}.png'
            Image.fromarray(mask).save(path)
    (root / 'train.txt').write_text('\n'.join(names))
    (root / 'val.txt').write_text('\n'.join(names[::16]))


def make_config(method: str, root: Path, steps: int) -> Config:
    """Return a run of two classes, then one a step, two iterations each."""
    cfg = Config.fromfile(ROOT / CONFIG.format(method))
    classes = [f'class {i}' for i in range(1, steps + 2)]
    cfg.continual.update(
        task=[classes[:2], *([name] for name in classes[2:])],
        data_root=str(root),
        metainfo=dict(classes=['background', *classes]),
    )
    length = dict(epochs=2, batch_size=4)
    loaders = {
        f'{phase}_dataloader': dict(
            num_workers=1,
            persistent_workers=True,
            dataset=dict(ann_file=f'{phase}.txt'),
        )
        for phase in ('train', 'val')
    }
    cfg.merge_from_dict(
        dict(
            crop_size=(SIZE, SIZE),
            schedule=dict(base=length, later=length),
            **loaders,
        )
    )
    cfg.custom_hooks.append(dict(type='CountHook'))
    return cfg


def growth(found: list[dict[str, int]]) -> list[str]:
    """Return sentences about what grew, from step 5 on."""
    first, last = found[FIRST], found[-1]
    steps = len(found) - 1 - FIRST
    return [
        f'{key} grew from {first[key]} in step {FIRST} to {last[key]} in step '
        f'{FIRST + steps}, more than {allowed} a step'
        for key, allowed in ALLOWED.items()
        if last[key] - first[key] > max(allowed * steps, SLACK.get(key, 0))
    ]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--steps', type=int, default=50)
    parser.add_argument('--method', default='rbc')
    args = parser.parse_args()
    init_default_scope('mmseg')
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_data(root / 'data', args.steps + 1)
        cfg = make_config(args.method, root / 'data', args.steps)
        run_sequence(cfg, str(root / 'run'))
    problems = growth(CountHook.found)
    print('\n'.join(problems) or 'nothing grew')
    return len(problems)


if __name__ == '__main__':
    sys.exit(main())
