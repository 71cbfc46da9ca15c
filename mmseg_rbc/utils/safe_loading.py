"""Load checkpoints without running what is in them.

A checkpoint is a pickle, and a pickle is a program. MMEngine loads it as one:
the official line where torch is old, the maintained line after a warning.
:func:`guard_loading` changes that for the whole process, the Runner's load
and resume and pretrained backbones included. See docs/security.md.
"""

from __future__ import annotations

import functools
import logging
import os
import os.path as osp
import pickle
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import torch
from mmengine.logging import HistoryBuffer, print_log
from mmengine.runner import CheckpointLoader
from packaging.version import Version

# Set it to 1 to load files as MMEngine does, for files that you trust.
TRUST = 'MMSEG_RBC_TRUST_CHECKPOINTS'
_FORCE = 'TORCH_FORCE_WEIGHTS_ONLY_LOAD'
_FORCE_NOT = 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'

Loader = Callable[..., Any]


class UnreadableCheckpointError(ValueError):
    """A file is damaged, or is no checkpoint.

    Args:
        message: The whole sentence.
        reason: What torch said.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def trusts_checkpoints() -> bool:
    """Whether the user said that checkpoints may run code."""
    return os.environ.get(TRUST) == '1'


def guard_loading() -> None:
    """Make MMEngine load every checkpoint safely, in this process."""
    if Version(torch.__version__) >= Version('2.6'):
        allow_checkpoint_types()
    for prefix, loader in list(CheckpointLoader._schemes.items()):
        loader = load_from_local if prefix == '' else guarded(loader)
        CheckpointLoader.register_scheme(prefix, loader, force=True)


def guarded(loader: Loader) -> Loader:
    """Wrap a loader of MMEngine, so that nothing in a file is executed."""

    @functools.wraps(loader)
    def load(filename: str, map_location: Any = None) -> Any:
        if trusts_checkpoints():
            message = f'{TRUST}=1: {filename} may run code while it is loaded'
            print_log(message, 'current', logging.WARNING)
            return loader(filename, map_location)
        try:
            with _weights_only():
                content = loader(filename, map_location)
        except (pickle.UnpicklingError, RuntimeError) as error:
            if 'weights_only' not in str(error):
                # Damaged, or for a device that is not there.
                raise
            raise _refusal(filename, str(error)) from None
        _disarm(content, filename)
        return content

    return load


@guarded
def load_from_local(filename: str, map_location: Any = None) -> Any:
    """Load a file; MMEngine calls it for every local path."""
    path = osp.expanduser(filename)
    if not osp.isfile(path):
        raise FileNotFoundError(f'{path} can not be found.')
    weights_only = not trusts_checkpoints()
    # Opened once: what is loaded is what was looked at.
    with open(path, 'rb') as file:
        if weights_only:
            _check_sums(file)
            file.seek(0)
        return torch.load(file, map_location, weights_only=weights_only)


def _check_sums(file: BinaryIO) -> None:
    """Raise if bytes of a checkpoint changed since it was written.

    It is a zip file with a sum of each record, which torch does not look at:
    weights would be wrong, and nothing would say so.
    """
    try:
        if not zipfile.is_zipfile(file):
            # Of an old torch, or damaged where torch notices it.
            return
        with zipfile.ZipFile(file) as records:
            damaged = records.testzip()
    except (zipfile.BadZipFile, struct.error, zlib.error) as error:
        raise RuntimeError(str(error)) from None
    if damaged is not None:
        raise RuntimeError(f'the checksum of {damaged} in it is wrong')


@contextmanager
def _weights_only() -> Iterator[None]:
    """Force ``torch.load`` to be safe, whatever its callers ask for.

    MMEngine asks for an unsafe load when the safe one fails, and for files
    from the web always.
    """
    before = {
        name: os.environ.pop(name, None) for name in (_FORCE, _FORCE_NOT)
    }
    os.environ[_FORCE] = '1'
    try:
        yield
    finally:
        del os.environ[_FORCE]
        set_before = {k: v for k, v in before.items() if v is not None}
        os.environ.update(set_before)


def _refusal(filename: str, error: str) -> ValueError:
    """Return the error for a file that torch refused."""
    found = re.search(r'GLOBAL (\S+)', error)
    if found is None:
        # What torch met is between two pieces of advice.
        reason = error.split('WeightsUnpickler error:')[-1]
        reason = reason.strip().split('\n')[0].split('. ')[0]
        return UnreadableCheckpointError(
            f'{filename} is no checkpoint that can be loaded safely '
            f'({reason}): pass a checkpoint of tools/train.py, and if '
            f'you trust this file as you trust a program, set {TRUST}=1',
            reason,
        )
    return ValueError(
        f'{filename} is refused, because it asks for {found[1]} while it is '
        'loaded, which no checkpoint needs and which can run anything: if '
        f'you trust this file as you trust a program, set {TRUST}=1'
    )


def _disarm(content: Any, filename: str) -> None:
    """Take out what MMEngine would execute or delete when it resumes.

    It executes ``meta.config``, a key of old checkpoints (today's is
    ``meta.cfg``), and deletes the checkpoints that the message hub calls old
    or surpassed: they must lie beside this one.
    """
    _part(content, 'meta').pop('config', None)
    info = _part(_part(content, 'message_hub'), 'runtime_info')
    ids = info.get('keep_ckpt_ids')
    if ids is not None:
        ids = ids if isinstance(ids, list) else []
        info['keep_ckpt_ids'] = [i for i in ids if isinstance(i, int)]
    for key in [key for key in info if str(key).startswith('best_ckpt')]:
        name = osp.basename(str(info.pop(key)))
        if name.endswith('.pth'):
            info[key] = osp.join(osp.dirname(filename), name)


def _part(content: Any, key: str) -> dict[str, Any]:
    """Return a dict in a dict, an empty one if there is none."""
    part = content.get(key) if isinstance(content, dict) else None
    return part if isinstance(part, dict) else {}


def allow_checkpoint_types() -> None:
    """Tell torch which classes an MMEngine checkpoint holds.

    MMEngine's message hub keeps ``HistoryBuffer`` objects and numpy arrays
    in every checkpoint, which ``torch.load(weights_only=True)`` refuses
    unless they are on its allow-list.
    """
    core = getattr(np, '_core', None) or np.core
    allowed = [
        HistoryBuffer,
        np.ndarray,
        np.dtype,
        *(type(np.dtype(code)) for code in '?bBhHiIlLqQefd'),
    ]
    # With their names: MMEngine's own loading, on the maintained line, takes
    # bare classes off the list again when it is done.
    named: list[Any] = [
        (item, f'{item.__module__}.{item.__name__}') for item in allowed
    ]
    # Files that were written with numpy 1 have the first name.
    for module in ('numpy.core.multiarray', 'numpy._core.multiarray'):
        for name in ('_reconstruct', 'scalar'):
            named.append((getattr(core.multiarray, name), f'{module}.{name}'))
    # A pickled HistoryBuffer names its methods through getattr.
    named.append((_history_method, 'builtins.getattr'))
    torch.serialization.add_safe_globals(named)


def _history_method(owner: Any, name: str) -> Callable[..., Any]:
    """Stand in for ``getattr`` in checkpoints, for one class only."""
    if owner is not HistoryBuffer or str(name).startswith('_'):
        raise pickle.UnpicklingError(
            f'GLOBAL builtins.getattr of {name!r} of {owner!r}'
        )
    return getattr(HistoryBuffer, name)
