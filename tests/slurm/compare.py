"""Compare two runs, bit by bit; run.sh calls it.

Usage: ``compare.py WORK_DIR RESUMED_WORK_DIR``
"""

import json
import sys
from pathlib import Path

import torch


def compare(folders: list[Path]) -> list[bool]:
    """Compare a step of two runs; return which of them were resumed."""
    a, b = (
        torch.load(folder / 'final.pth', weights_only=True)['state_dict']
        for folder in folders
    )
    assert a.keys() == b.keys()
    different = [key for key in a if not torch.equal(a[key], b[key])]
    assert not different, f'{folders[1]}: {different}'
    done = [
        json.loads((folder / 'finished.json').read_text())
        for folder in folders
    ]
    assert done[0]['metrics'] == done[1]['metrics']
    miou = done[0]['metrics']['mIoU']
    print(f'{folders[0].name}: {len(a)} tensors are equal, mIoU {miou}')
    return [one['resumed'] for one in done]


def main(*work_dirs: str) -> None:
    """Compare both steps; the second run was stopped in step 1."""
    for step, expected in (('step_0', False), ('step_1', True)):
        folders = [Path(work_dir) / step for work_dir in work_dirs]
        assert compare(folders) == [False, expected], step


if __name__ == '__main__':
    main(*sys.argv[1:])
