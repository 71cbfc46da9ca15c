"""Bad input ends a tool with a sentence, not with a traceback."""

from __future__ import annotations

import os
import os.path as osp
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

PROJECT = osp.dirname(osp.dirname(osp.dirname(osp.abspath(__file__))))
OURS = tuple(osp.join(PROJECT, name, '') for name in ('mmseg_rbc', 'tools'))


@contextmanager
def plain_errors() -> Iterator[None]:
    """End with the sentence of an error that the project itself raised.

    An error from elsewhere keeps its traceback; with ``MMSEG_RBC_TRACEBACK=1``
    all do.
    """
    try:
        yield
    except (ValueError, FileNotFoundError) as error:
        if os.environ.get('MMSEG_RBC_TRACEBACK') or not is_ours(error):
            raise
        raise SystemExit(f'error: {error}') from None


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a file of this project."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and osp.abspath(frames[-1].filename).startswith(OURS)
