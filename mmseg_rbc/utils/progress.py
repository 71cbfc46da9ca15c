"""Progress of what is no training: MMEngine logs that itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from mmengine.logging import print_log
from rich.console import Console
from rich.progress import track as track_in_terminal

T = TypeVar('T')
LOG_SECONDS = 10.0


def track(items: Iterable[T], name: str, total: int) -> Iterator[T]:
    """Yield items and show how far it is.

    In a terminal that is a bar of ``rich``. A bar has no place in a log file,
    and ``rich`` writes nothing there until the end: there it is a line of the
    log every ten seconds.

    Args:
        items: What to go through.
        name: What is done.
        total: The number of items.
    """
    if sys.stderr.isatty():
        console = Console(stderr=True)
        yield from track_in_terminal(items, name, total, console=console)
        return
    start = logged = time.monotonic()
    for number, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now > logged + LOG_SECONDS or number == total:
            left = (now - start) / number * (total - number)
            print_log(f'{name}: {number}/{total}, eta {left:.0f} s', 'current')
            logged = now
