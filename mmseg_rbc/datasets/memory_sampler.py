"""Batches of which a part comes from memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from mmseg.registry import DATA_SAMPLERS
from torch.utils.data import Sampler


def draws_of_step(batch_size: int, share: float) -> int:
    """Return how many images of a batch are of the step, at least one.

    Args:
        batch_size: Images of the batch.
        share: Of them that come from memory: rounded down.
    """
    return max(1, batch_size - int(batch_size * share))


@DATA_SAMPLERS.register_module()
class MemorySampler(Sampler):
    """Draw images of the step, then images in memory, for every batch.

    A pass shows every image of the step once; those in memory come round as
    often as it takes, in a new order each time. Where a draw goes depends on
    its position alone, so that any number of processes shares the batches of
    one (see :class:`.DrawSampler`), and a resumed run goes on in the middle.

    Args:
        dataset: The images of the step, and behind them those in memory: a
            data set around :class:`.MemoryDataset`.
        seed: Of the run.
        share: Of a batch that comes from memory.
        shuffle: Whether to change the order of the images.
        infinite: Whether a pass never ends, for loops of iterations.

    Attributes:
        batch_size: Of all processes; :class:`.DrawSampler` sets it.
    """

    def __init__(
        self,
        dataset: Any,
        seed: int = 0,
        share: float = 0.5,
        shuffle: bool = True,
        infinite: bool = False,
    ) -> None:
        while not hasattr(dataset, 'num_memory'):
            dataset = dataset.dataset
        self.num_memory = dataset.num_memory
        self.num_images = len(dataset) - dataset.num_memory
        self.seed, self.share = seed, share
        self.shuffle, self.infinite = shuffle, infinite
        self.batch_size = 2
        self._pass = self._start = 0
        self._orders: dict[str, tuple[tuple, np.ndarray]] = {}
        # DrawSampler takes it for a sign that a pass has no end.
        if infinite:
            self.skip = self._skip

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the pass, which changes the order."""
        self._pass = epoch

    def _skip(self, num_samples: int) -> None:
        self._start = num_samples

    def __len__(self) -> int:
        own = draws_of_step(self.batch_size, self.share)
        batches, rest = divmod(self.num_images, own)
        last = min(self.batch_size - own, rest)
        return batches * self.batch_size + (rest + last if rest else 0)

    def __iter__(self) -> Iterator[int]:
        start, self._start = self._start, 0
        positions = (
            itertools.count(start)
            if self.infinite
            else range(start, len(self))
        )
        yield from map(self._index, positions)

    def _index(self, position: int) -> int:
        """Return the sample at a position of a pass."""
        own = draws_of_step(self.batch_size, self.share)
        batch, place = divmod(position, self.batch_size)
        here = own
        if not self.infinite:
            # The last batch has what is left, and as much of the memory.
            here = min(own, self.num_images - batch * own)
        if place < here:
            return self._nth('step', self.num_images, batch * own + place)
        draw = batch * (self.batch_size - own) + place - here
        return self.num_images + self._nth('memory', self.num_memory, draw)

    def _nth(self, kind: str, count: int, draw: int) -> int:
        """Return draw n of images that come round again and again."""
        turn, place = divmod(draw, count)
        if not self.shuffle:
            return place
        key = (self.seed, self._pass, turn, kind == 'memory')
        known, order = self._orders.get(kind, (None, None))
        if known != key:
            order = np.random.default_rng(key).permutation(count)
            self._orders[kind] = (key, order)
        assert order is not None
        return int(order[place])
