"""What the benchmarks share: figures, times in turns, peak memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

Times = dict[str, np.ndarray]


@dataclass
class Figure:
    """One line of the table.

    Attributes:
        part: Benchmark that it is of.
        name: What was measured.
        value: Median of the repeats; a ratio, if no unit is given.
        low: First quartile of the repeats.
        high: Third quartile.
        unit: Of a value that is no ratio.
        limit: What it has to reach, as text: ``<= 1.05``.
    """

    part: str
    name: str
    value: float
    low: float | None = None
    high: float | None = None
    unit: str = ''
    limit: str = ''

    @property
    def holds(self) -> bool | None:
        """Whether the value keeps its limit; None without one."""
        if not self.limit:
            return None
        sign, number = self.limit.split()
        bound = float(number)
        found = float(self.value)
        return found <= bound if sign == '<=' else found >= bound


def in_turns(
    functions: Mapping[str, Callable[[], object]],
    repeats: int,
    warm_up: int = 1,
) -> Times:
    """Return the CPU times of functions that are called in turns.

    CPU time of this process, so that others on the machine matter less; with
    one thread it is the time of an idle machine, but for shared caches.
    Every other round goes backwards: nobody always follows the same one.
    """
    times: dict[str, list[float]] = {name: [] for name in functions}
    for turn in range(warm_up + repeats):
        names = list(functions)
        for name in names[::-1] if turn % 2 else names:
            start = time.process_time()
            functions[name]()
            times[name].append(time.process_time() - start)
    return {name: np.array(row[warm_up:]) for name, row in times.items()}


def ratio(
    part: str,
    name: str,
    above: np.ndarray,
    below: np.ndarray,
    limit: str = '',
) -> Figure:
    """Return the median of the ratios of two times of the same rounds."""
    quartiles = np.percentile(above / below, (25, 50, 75))
    low, middle, high = (float(value) for value in quartiles)
    return Figure(part, name, middle, low, high, limit=limit)


def peak_memory(function: Callable[[], object]) -> int:
    """Return the peak of what a function allocates, in bytes (CPU)."""
    with torch.profiler.profile(profile_memory=True) as profile:
        function()
    events = profile.profiler.kineto_results.events()
    changes = [
        (event.start_ns(), event.nbytes())
        for event in events
        if event.name() == '[memory]'
    ]
    return int(max(np.cumsum([size for _, size in sorted(changes)])))
