"""The cache of what a scan of files found: its place, when it is valid."""

from __future__ import annotations

import hashlib
import logging
import os
import os.path as osp
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from filelock import FileLock, Timeout
from mmengine.logging import print_log

from mmseg_rbc.utils.files import remove_parts, replacing

# What numpy and zipfile raise for a damaged file.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    TypeError,
    zipfile.BadZipFile,
)
CACHE_FOLDER = '.mmseg_rbc'
NUM_VALUES = 256


class ClassIndexCache:
    """A class index on disk, for one list of masks.

    Or another table with one row of bits for each file, or for a few. It is
    kept in ``.mmseg_rbc`` inside the common folder of the files or, where that
    is read-only, below ``$MMSEG_RBC_CACHE`` (``~/.cache/mmseg_rbc``). A scan
    that was interrupted leaves the rows that it had finished.

    Args:
        mask_paths: The mask files, which must exist.
        kind: What the table is.
        num_columns: Bits in a row, a multiple of 8.
    """

    def __init__(
        self,
        mask_paths: Sequence[str],
        kind: str = 'class_index',
        num_columns: int = NUM_VALUES,
    ) -> None:
        self.num_columns = num_columns
        parts = [osp.split(path) for path in mask_paths]
        folders = {folder: osp.abspath(folder) for folder, _ in parts}
        root = osp.commonpath(list(folders.values()))
        # The file's name depends on the list alone, relative to its folder:
        # moved data keeps its cache, changed masks replace it.
        below = {f: osp.relpath(path, root) for f, path in folders.items()}
        listed = '\0'.join(f'{below[f]}/{name}' for f, name in parts)
        names = hashlib.sha256(listed.encode())
        name = f'{kind}-{names.hexdigest()[:16]}.npz'
        self._key = names.digest() + _state_digest(mask_paths)
        self._places = [osp.join(f, name) for f in _cache_folders(root)]

    @property
    def place(self) -> str:
        """The file that it is in, or no file."""
        found = [place for place in self._places if osp.isfile(place)]
        return found[0] if found else 'no file: no folder can be written'

    def read(self) -> np.ndarray:
        """Return the rows that are known: none if stale or damaged."""
        return max((self._read(place) for place in self._places), key=len)

    def write(self, index: np.ndarray) -> None:
        """Write atomically, so that a reader sees all of it or nothing.

        A cache that cannot be written costs time, not the run.

        Args:
            index: ``(n, columns)`` bool, the first n rows.
        """
        key = np.frombuffer(self._key, np.uint8)
        for place, other in zip(self._places, (*self._places[1:], None)):
            try:
                with replacing(place) as part, open(part, 'wb') as file:
                    np.savez(file, key=key, bits=np.packbits(index, axis=1))
                return
            except OSError as error:
                message = f'the cache {place} is not written: {error}; '
                message += f'trying {other}' if other else 'going on without'
                print_log(message, 'current', logging.WARNING)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Let one process at a time through.

        The lock frees itself when its process dies. Where no lock file can
        be made, processes do not wait for each other.
        """
        for place in self._places:
            lock = FileLock(place + '.lock', mode=0o666)
            try:
                os.makedirs(osp.dirname(place), exist_ok=True)
                lock.acquire(timeout=0)
            except Timeout:
                message = f'waiting for the process that scans for {place}'
                print_log(message, 'current')
                lock.acquire()
            except OSError:
                continue
            try:
                remove_parts(*osp.split(place))
                yield
            finally:
                lock.release()
            return
        yield

    def _read(self, place: str) -> np.ndarray:
        nothing = np.zeros((0, self.num_columns), bool)
        if not osp.isfile(place):
            return nothing
        try:
            # The zip format carries checksums: damage raises.
            with np.load(place) as data:
                if data['key'].tobytes() != self._key:
                    return nothing
                found = np.unpackbits(data['bits'], axis=1).astype(bool)
            if found.shape[1:] != (self.num_columns,):
                raise ValueError('it is another table')
            return found
        except _DAMAGE:
            print_log(f'rebuilding the damaged cache {place}', 'current')
            return nothing


def _state_digest(mask_paths: Sequence[str]) -> bytes:
    """Digest sizes and modification times."""
    stats = map(os.stat, mask_paths)
    states = np.array([(s.st_size, s.st_mtime_ns) for s in stats], np.int64)
    return hashlib.sha256(states.tobytes()).digest()


def _cache_folders(root: str) -> list[str]:
    """Return the folders a cache may lie in, the best one first."""
    user = os.environ.get('MMSEG_RBC_CACHE') or osp.expanduser(
        osp.join('~', '.cache', 'mmseg_rbc')
    )
    digest = hashlib.sha256(root.encode()).hexdigest()[:16]
    return [osp.join(root, CACHE_FOLDER), osp.join(user, digest)]
