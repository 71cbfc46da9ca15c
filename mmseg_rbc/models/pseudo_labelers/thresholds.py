"""Thresholds of the entropy, one for every class that the teacher knows.

An estimator reads all background pixels of the training images, in one pass
or two: ``update`` for every batch, ``end_pass`` (which sums over processes)
after every pass, then ``thresholds``.
"""

from __future__ import annotations

import torch
from mmengine.dist import all_reduce
from torch import Tensor

FLOOR = 0.001


class MedianThresholds:
    """The exact (lower) median of every class, floored at 0.001.

    To sort them all entropies would have to be kept, gigabytes for a data
    set. But the bits of floats that are not negative, read as integers, sort
    like the floats. So the median is found bit by bit: a first pass counts
    the values by the upper 16 bits, which tells those of the median and its
    rank among the values that share them; a second pass counts these values
    by their lower 15 bits. (The sign bit is always 0.)

    Args:
        num_old: O.
        device: Of the entropies.
    """

    num_passes = 2
    HIGH, LOW = 1 << 16, 1 << 15

    def __init__(self, num_old: int, device: torch.device | str) -> None:
        self.num_old = num_old
        self.counts = _zeros(num_old * self.HIGH, device)
        self.rank = _zeros(num_old, device)
        self.high: Tensor | None = None
        self.result: Tensor | None = None

    def update(self, entropy: Tensor, classes: Tensor) -> None:
        """Count pixels.

        Args:
            entropy: ``(n,)`` float32, not negative.
            classes: ``(n,)`` int64, the teacher's class.
        """
        bits = entropy.view(torch.int32).long()
        bins, width = bits // self.LOW, self.HIGH
        if self.high is not None:
            inside = bins == self.high[classes]
            bins, width = bits[inside] % self.LOW, self.LOW
            classes = classes[inside]
        self.counts += torch.bincount(
            classes * width + bins, minlength=len(self.counts)
        )

    def end_pass(self) -> None:
        """Sum over processes and narrow the medians down."""
        all_reduce(self.counts)
        running = self.counts.view(self.num_old, -1).cumsum(1)
        if self.high is None:
            self.rank = (running[:, -1] + 1) // 2
            self.high = _first_bin(running, self.rank)
            # The rank of the median among the values with its upper bits.
            before = running.gather(1, (self.high - 1).clamp(min=0)[:, None])
            self.rank -= before[:, 0] * (self.high > 0)
            self.counts = _zeros(self.num_old * self.LOW, running.device)
            return
        low = _first_bin(running, self.rank)
        bits = (self.high * self.LOW + low).to(torch.int32)
        median = bits.view(torch.float32)
        never = running[:, -1] == 0
        self.result = median.masked_fill(never, 0).clamp(min=FLOOR)

    def thresholds(self) -> Tensor:
        """Return ``(O,)`` thresholds; a class never predicted has 0.001."""
        assert self.result is not None, 'two passes are needed'
        return self.result


class HistogramThresholds:
    """The median of every class as a histogram of 100 bins on [0, 1] has it.

    The entropy is divided by O, so it hardly ever reaches the second bin: of
    a class whose median is in the first one the threshold is between 0.005
    and 0.01, whatever the median. See docs/paper_and_code.md.

    Args:
        num_old: O.
        device: Of the entropies.
        slip: Whether to walk the histogram as the published code does, whose
            running sum adds the number of a bin, not its count.
    """

    num_passes = 1
    BINS = 100

    def __init__(
        self, num_old: int, device: torch.device | str, slip: bool = False
    ) -> None:
        self.counts = _zeros(num_old * self.BINS, device)
        self.slip = slip

    def update(self, entropy: Tensor, classes: Tensor) -> None:
        """Count pixels, as in :meth:`MedianThresholds.update`."""
        bins = (entropy * self.BINS).long().clamp(max=self.BINS - 1)
        self.counts += torch.bincount(
            classes * self.BINS + bins, minlength=len(self.counts)
        )

    def end_pass(self) -> None:
        """Sum over processes."""
        all_reduce(self.counts)

    def thresholds(self) -> Tensor:
        """Return ``(O,)`` thresholds; a class never predicted has 0.001."""
        rows = self.counts.view(-1, self.BINS).tolist()
        values = [histogram_threshold(row, self.slip) for row in rows]
        return torch.tensor(values, device=self.counts.device)


class PublishedThresholds(HistogramThresholds):
    """What PLOP, RBC and their successors compute, with the slip."""

    def __init__(self, num_old: int, device: torch.device | str) -> None:
        super().__init__(num_old, device, slip=True)


def histogram_threshold(histogram: list[int], slip: bool) -> float:
    """Walk a histogram to its median, with or without the published slip."""
    if sum(histogram) == 0:
        return FLOOR
    half = sum(histogram) / 2
    running, last = 0, 0
    for last, count in enumerate(histogram):
        if running <= half <= running + count:
            break
        running += last if slip else count
    if histogram[last] == 0:
        return float('inf') if half > running else FLOOR
    value = (last + (half - running) / histogram[last]) / len(histogram)
    return max(value, FLOOR)


def _zeros(size: int, device: torch.device | str) -> Tensor:
    return torch.zeros(size, dtype=torch.int64, device=device)


def _first_bin(running: Tensor, rank: Tensor) -> Tensor:
    """Return the first bin of every row whose running count has the rank."""
    found = torch.searchsorted(running, rank[:, None].clamp(min=1))
    return found[:, 0].clamp(max=running.shape[1] - 1)
