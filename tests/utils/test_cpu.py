"""Memory that is freed and taken again; threads that share the cores."""

import os
import platform
import subprocess
import sys

import pytest

from mmseg_rbc.utils.cpu import threads_of_a_job

# Pages that the kernel had to clear for ten tensors of 64 MB, each of which is
# freed before the next; 64 MB are 16384 pages of 4 kB.
PAGES = """
import resource
import torch
from mmseg_rbc.utils.cpu import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.ones(2**24)
print(faults(), keep_freed_memory(), faults(), faults())
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != 'glibc', reason='other C libraries differ'
)
def test_freed_memory_is_used_again():
    done = subprocess.run(
        [sys.executable, '-c', PAGES],
        capture_output=True,
        text=True,
        check=True,
    )
    given_back, kept, _, again = done.stdout.split()
    # Huge pages may make it fewer; without the switch it is all of them.
    assert kept == 'True'
    assert int(again) < int(given_back) / 20


@pytest.mark.skipif(
    not hasattr(os, 'sched_setaffinity'), reason='cores cannot be chosen'
)
def test_threads_of_jobs_add_up_to_the_cores(monkeypatch):
    monkeypatch.delenv('OMP_NUM_THREADS', raising=False)
    cores = os.sched_getaffinity(0)
    assert threads_of_a_job(1) == len(cores)
    assert threads_of_a_job(len(cores)) == 1
    assert threads_of_a_job(3 * len(cores)) == 1
    monkeypatch.setenv('OMP_NUM_THREADS', '7')
    assert threads_of_a_job(2) == 7, 'the user wins'
    monkeypatch.delenv('OMP_NUM_THREADS')
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert threads_of_a_job(1) == 1
    finally:
        os.sched_setaffinity(0, cores)
