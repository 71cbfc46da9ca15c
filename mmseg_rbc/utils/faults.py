"""Faults of disks, processes and images end a training with a sentence.

What each of them costs is in ``docs/faults.md``.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager

from .errors import OURS

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# A path that is read-only, forbidden, broken, or in the place of a folder.
UNUSABLE = (
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.ENOTDIR,
    errno.EEXIST,
)
# A signal comes within milliseconds; the machine may be busy.
SIGNAL_SECONDS = 2.0
# torch passes an error of a worker on as text, in an error of the same type.
IN_WORKER = re.compile(r'Caught \w+ in DataLoader worker process \d+\.\n')
# What gloo and NCCL say when another process is gone.
LOST_PEER = re.compile(
    r'Connection (closed|reset) by peer|ncclRemoteError|ncclSystemError'
)
UNDECODED = re.compile(
    r'^(?:AssertionError: )?failed to load image: (.+)$', re.MULTILINE
)


@contextmanager
def explained_faults(how_far: Callable[[], str]) -> Iterator[None]:
    """End with a sentence after a fault; other errors pass.

    With ``MMSEG_RBC_TRACEBACK=1`` all errors do.

    Args:
        how_far: Says what is done, and how to go on.
    """
    before = logging.raiseExceptions
    # A log file on a full disk would print a traceback for every line.
    logging.raiseExceptions = False
    try:
        yield
    except Exception as error:
        sentence = fault_sentence(_cause(error))
        if sentence is None or os.environ.get('MMSEG_RBC_TRACEBACK'):
            raise
        raise SystemExit(f'error: {sentence}; {how_far()}') from None
    finally:
        logging.raiseExceptions = before


def _cause(error: Exception) -> Exception:
    """Return what torch says of a dead worker whose connection broke.

    It says so when the signal of the death arrives, a moment after the end of
    the connection.
    """
    if isinstance(error, (ConnectionError, EOFError)):
        try:
            time.sleep(SIGNAL_SECONDS)
        except RuntimeError as death:
            return death
    return error


def fault_sentence(error: Exception) -> str | None:
    """Say what happened and what to change; None if it is no such fault."""
    text = str(error)
    if isinstance(error, OSError) and error.errno in (*FULL, *UNUSABLE):
        return _disk_sentence(error)
    if isinstance(error, BrokenExecutor) or text.startswith(
        'DataLoader worker (pid'
    ):
        return (
            f'a process that reads data died ({text.strip().rstrip(".")}): '
            'if the memory of the machine or /dev/shm is full, use fewer '
            'train_dataloader.num_workers'
        )
    lost = LOST_PEER.search(text)
    if isinstance(error, RuntimeError) and lost:
        return (
            f'another process of this run ended ({lost[0]}): its own message '
            'says why; if it has none it was killed, perhaps because the '
            'memory of its machine was full'
        )
    undecoded = UNDECODED.search(text)
    if isinstance(error, AssertionError) and undecoded:
        return (
            f'image {undecoded[1]} cannot be decoded: restore the file, or '
            'take it out of the image list'
        )
    return _worker_sentence(text)


def _disk_sentence(error: OSError) -> str:
    path = error.filename or 'a log or checkpoint of the work dir'
    if error.errno in FULL:
        return (
            f'{path} cannot be written ({error.strerror}): free some space on '
            'its disk'
        )
    return (
        f'{path} cannot be used ({error.strerror}): make it a place that can '
        'be read and written, or give another one'
    )


def _worker_sentence(text: str) -> str | None:
    """Return the sentence that the project raised in a data worker."""
    files = re.findall(r'^  File "(.+?)", line', text, re.MULTILINE)
    if IN_WORKER.match(text) and files and files[-1].startswith(OURS):
        return text.rstrip().splitlines()[-1].partition(': ')[2]
    return None
