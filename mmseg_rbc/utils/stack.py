"""The installed OpenMMLab packages: check them and make them work.

Two lines of packages share the import names ``mmengine``, ``mmcv`` and
``mmseg``: the official one and the maintained ``onedl-*`` one. Neither is
replaced here; see "The stack" in the README.
"""

from __future__ import annotations

import importlib.util
import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

from packaging.version import Version

# Lowest version of each package that the tests ran with.
MINIMUM_VERSIONS = {'mmengine': '0.10.7', 'mmcv': '2.1.0', 'mmseg': '1.2.2'}

INSTALL_HINT = (
    'install a line of packages with `pip install "mmseg_rbc[onedl]"` '
    '(maintained, for a new torch) or `pip install "mmseg_rbc[openmmlab]"`'
)


class _MissingOps(ModuleType):
    """Stand-in for ``mmcv._ext``: every operator exists, and raises."""

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
        try:
            found = importlib.import_module(name).__version__
        except Exception as error:
            raise ImportError(
                f'{name} is installed but cannot be imported ({error}): '
                f'{INSTALL_HINT}'
            ) from error
        if Version(found) < Version(minimum):
            raise ImportError(
                f'mmseg_rbc needs {name} >= {minimum}, found {found}: '
                f'{INSTALL_HINT}'
            )


def import_ops() -> None:
    """Import ``mmcv.ops`` also where ``mmcv`` has no compiled operators.

    ``mmseg.models`` needs the import, mostly for operators that no config
    here uses. The stand-in is gone afterwards, so that others who ask for
    ``mmcv._ext`` (MMEngine does) learn that it is missing.
    """
    name = 'mmcv._ext'
    try:
        importlib.import_module(name)
        return
    except ImportError:
        # Absent, or built for another torch.
        sys.modules[name] = _MissingOps(name)
    try:
        importlib.import_module('mmcv.ops')
    finally:
        del sys.modules[name]


def import_datasets() -> None:
    """Import the data sets of MMSeg without a word about OneDL.

    The maintained MMSeg prints a line for every process that cannot import
    the data platform of its makers, though it means to log it for debugging.
    """
    with redirect_stdout(io.StringIO()) as printed:
        importlib.import_module('mmseg.datasets')
    for line in printed.getvalue().splitlines():
        if line != 'Could not import OneDL':
            print(line)


def prepare_stack() -> None:
    """Check the installed packages, then fill their known gaps."""
    check_stack()
    import_ops()
    import_datasets()
