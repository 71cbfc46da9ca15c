"""Memory and threads of processes that train on the CPU."""

from __future__ import annotations

import ctypes
import os

# Of <malloc.h>, for mallopt.
M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
# mallopt takes an int.
LARGEST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Have the C library keep freed memory for the next tensor.

    By default glibc gives large blocks back to the kernel as soon as they are
    free, which then clears every page of the next one: a quarter of the
    time of a small network's iteration (docs/experiments.md). Not for
    accelerators, whose memory torch keeps itself.

    Returns:
        Whether it took effect: other C libraries have no such switch.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    kept = mallopt(M_MMAP_MAX, 0), mallopt(M_TRIM_THRESHOLD, LARGEST)
    return all(kept)


def threads_of_a_job(num_jobs: int) -> int:
    """Return the threads of each of several jobs on this machine.

    They add up to the cores: threads wait for each other, and one whose core
    another job has keeps the others waiting. ``OMP_NUM_THREADS`` wins.
    """
    chosen = os.environ.get('OMP_NUM_THREADS', '')
    if chosen.isdigit():
        return int(chosen)
    # Those that this process may use, where the system says so.
    cores = (
        len(os.sched_getaffinity(0))
        if hasattr(os, 'sched_getaffinity')
        else os.cpu_count() or 1
    )
    return max(1, cores // max(1, num_jobs))
