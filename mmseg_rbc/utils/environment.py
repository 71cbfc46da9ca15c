"""What a run ran with."""

from __future__ import annotations

import os.path as osp
import platform
import subprocess
import sys
from functools import lru_cache
from typing import Any

import mmcv
import mmengine
import mmseg
import numpy as np
import torch
from mmengine.device import get_device

from mmseg_rbc.version import __version__

# The folder of the package: a checkout of the project has .git in it.
ROOT = osp.dirname(osp.dirname(osp.dirname(osp.abspath(__file__))))


def environment() -> dict[str, Any]:
    """Return what a result depends on but its config and data.

    Returns:
        ``threads``, see ``torch.set_num_threads``; ``versions`` and ``git``,
        see :func:`versions` and :func:`git_state`.
    """
    return dict(
        threads=torch.get_num_threads(), versions=versions(), git=git_state()
    )


@lru_cache
def git_state(root: str = ROOT) -> dict[str, Any] | None:
    """Return the ``commit`` of a checkout and whether it was ``modified``.

    None without a checkout, or without git. The state of the first call
    counts: later changes are not in the code that runs.
    """
    # Another project may have this one in its virtual environment.
    if not osp.exists(osp.join(root, '.git')):
        return None
    try:
        commit = _git(root, 'rev-parse', 'HEAD')
        changes = _git(root, 'status', '--porcelain', '-uno')
    except (OSError, subprocess.SubprocessError):
        return None
    return dict(commit=commit, modified=bool(changes))


def _git(root: str, *arguments: str) -> str:
    done = subprocess.run(
        ['git', '-C', root, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Return the versions of all packages that matter, and the device."""
    device = get_device()
    if device == 'cuda':
        device = torch.cuda.get_device_name()
    return dict(
        mmseg_rbc=__version__,
        mmseg=mmseg.__version__,
        mmcv=mmcv.__version__,
        mmengine=mmengine.__version__,
        torch=torch.__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        device=device,
    )


def reset_peak_memory() -> None:
    """Begin to measure :func:`peak_memory` anew, where that can be done."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def peak_memory() -> int | None:
    """Return the most memory that this process has used, in MB.

    That of the GPU since :func:`reset_peak_memory`, if there is one,
    otherwise that of the process since its start; None on Windows, which
    does not say.
    """
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() // 2**20
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Bytes on macOS, kilobytes elsewhere.
    return peak // (2**20 if sys.platform == 'darwin' else 2**10)
