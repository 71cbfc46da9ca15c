"""What a run ran with."""

from __future__ import annotations

import platform
import sys

import mmcv
import mmengine
import mmseg
import numpy as np
import torch
from mmengine.device import get_device

from mmseg_rbc.version import __version__


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
