"""Look into many files, in parallel, and never twice."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

import numpy as np
from mmengine.logging import print_log

from mmseg_rbc.utils.progress import track

from .class_index_cache import ClassIndexCache

CHUNK = 64
# Of <sys/prctl.h>.
PR_SET_PDEATHSIG = 1
# Between two saves of a scan: what a kill may cost.
SAVE_SECONDS = 1.0

T = TypeVar('T')
Look = Callable[[Sequence[T]], np.ndarray]


def scan(
    items: Sequence[T],
    cache: ClassIndexCache,
    look: Look,
    what: str,
    num_workers: int | None = None,
) -> np.ndarray:
    """Return what is found in files, from the cache or by a scan.

    One process scans while others wait for its result, and a scan that was
    interrupted continues where it was.

    Args:
        items: Paths of files, or tuples of them.
        cache: The cache of these files.
        look: Returns the rows of some of the items.
        what: What the items are, for the progress.
        num_workers: Processes that scan; as many as cores by default.

    Returns:
        ``(len(items), columns)`` bool.
    """
    index = cache.read()
    if len(index) < len(items):
        with cache.lock():
            index = _scan(items, cache, look, what, num_workers)
        print_log(f'what {what} hold is kept in {cache.place}', 'current')
    return index


def _scan(
    items: Sequence[T],
    cache: ClassIndexCache,
    look: Look,
    what: str,
    num_workers: int | None,
) -> np.ndarray:
    """Look at the items that the cache does not know."""
    index = np.zeros((len(items), cache.num_columns), bool)
    known = cache.read()
    done = saved = len(known)
    index[:done] = known
    if done == len(index):
        return index
    clock = time.monotonic()
    try:
        chunks = _scan_chunks(items[done:], look, num_workers)
        name = f'scanning {len(index) - done} {what}, parts'
        for chunk in track(chunks, name, -(-(len(index) - done) // CHUNK)):
            index[done : done + len(chunk)] = chunk
            done += len(chunk)
            if time.monotonic() > clock + SAVE_SECONDS or done == len(index):
                cache.write(index[:done])
                saved, clock = done, time.monotonic()
    finally:
        if saved < done:
            cache.write(index[:done])
    return index


def _scan_chunks(
    items: Sequence[T], look: Look, num_workers: int | None
) -> Iterator[np.ndarray]:
    """Yield the rows of consecutive chunks of items, in order."""
    starts = range(0, len(items), CHUNK)
    chunks = [items[i : i + CHUNK] for i in starts]
    workers = min(num_workers or os.cpu_count() or 1, len(chunks))
    if workers < 2:
        yield from map(look, chunks)
        return
    # Threads do not help (Pillow holds the interpreter lock). Fork is what
    # DataLoader does on Linux; these workers touch neither torch nor locks.
    method = 'fork' if sys.platform == 'linux' else None
    context = multiprocessing.get_context(method)
    # Not multiprocessing.Pool, which waits for ever if a worker dies.
    with ProcessPoolExecutor(workers, context, _prepare_worker) as pool:
        yield from pool.map(look, chunks)


def _prepare_worker() -> None:
    """End with the main process, and at SIGTERM without its sentence."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == 'linux':
        # Otherwise it would wait for work for ever if that is killed.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
