"""The installed OpenMMLab packages: check them and make them work.

Two lines of packages share the import names ``mmengine``, ``mmcv`` and
``mmseg``: the official one and the maintained ``onedl-*`` one. Neither is
replaced here; see "The stack" in the README.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import torch
from packaging.version import Version

# Lowest version of each package that the tests ran with.
MINIMUM_VERSIONS = {'mmengine': '0.10.7', 'mmcv': '2.1.0', 'mmseg': '1.2.2'}

INSTALL_HINT = (
    'install a line of packages with `pip install "mmseg_rbc[onedl]"` '
    '(maintained, for a new torch) or `pip install "mmseg_rbc[openmmlab]"`'
)


class _MissingOps(ModuleType):
    """Stand-in for ``mmcv._ext``: every operator exists and says no."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        # Dunder look-ups are Python asking what kind of module this is.
        if name.startswith('__'):
            raise AttributeError(name)

        def missing_op(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError(
                f'the compiled operator {name!r} of mmcv was called, but this '
                'mmcv has none (mmcv-lite, or no build for this torch): '
                'install the full mmcv, or use a model without this operator'
            )

        return missing_op


def check_stack() -> None:
    """Raise ImportError if a package is absent or too old."""
    for name, minimum in MINIMUM_VERSIONS.items():
        if importlib.util.find_spec(name) is None:
            raise ImportError(
                f'mmseg_rbc needs {name} >= {minimum}, which is not '
                f'installed: {INSTALL_HINT}'
            )
        found = importlib.import_module(name).__version__
        if Version(found) < Version(minimum):
            raise ImportError(
                f'mmseg_rbc needs {name} >= {minimum}, found {found}: '
                f'{INSTALL_HINT}'
            )


def stand_in_for_missing_ops() -> None:
    """Let ``mmseg.models`` import where ``mmcv`` has no compiled operators.

    A compiled ``mmcv._ext`` is left alone. Must run before ``mmseg.models``
    is imported.
    """
    name = 'mmcv._ext'
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        sys.modules[name] = _MissingOps(name)


def allow_checkpoint_types() -> None:
    """Tell torch which classes an MMEngine checkpoint holds.

    MMEngine's message hub keeps ``HistoryBuffer`` objects and numpy arrays
    in every checkpoint, which ``torch.load(weights_only=True)``, the default
    since torch 2.6, refuses unless they are on its allow-list.
    """
    from mmengine.logging.history_buffer import HistoryBuffer

    multiarray = getattr(np, '_core', None) or np.core
    dtypes = [type(np.dtype(c)) for c in '?bBhHiIlLqQefd']
    torch.serialization.add_safe_globals(
        [
            HistoryBuffer,
            np.ndarray,
            np.dtype,
            multiarray.multiarray._reconstruct,
            multiarray.multiarray.scalar,
            *dtypes,
        ]
    )


def prepare_stack() -> None:
    """Check the installed packages, then fill their two known gaps."""
    check_stack()
    stand_in_for_missing_ops()
    if hasattr(torch.serialization, 'add_safe_globals'):
        allow_checkpoint_types()
