"""The randomness of a sample: every draw has its own.

A sampler is the only place that knows which draw comes when, whatever loop
asks for it; the outermost data set is the first that gets an index, whatever
wrappers do with it. So :class:`DrawSampler` numbers what a sampler yields, and
:class:`DrawDataset` seeds the random generators with that number before any
data set or transform uses them. Nothing depends on hooks, on workers or on the
number of processes, and a resumed run draws what an uninterrupted one does.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

import numpy as np
import torch
from mmengine.config import ConfigDict
from mmengine.dataset import DefaultSampler, InfiniteSampler, RepeatDataset
from mmengine.dist import get_dist_info, sync_random_seed
from mmseg.registry import DATA_SAMPLERS, DATASETS
from torch.utils.data import Sampler

from .memory_sampler import MemorySampler


class Draw(int):
    """The index of a sample, and what its randomness depends on."""

    key: tuple[int, ...] = ()


@DATA_SAMPLERS.register_module()
class DrawSampler(Sampler):
    """Number the draws of another sampler, and share them by processes.

    The key of a draw is ``(seed, step, pass, position)``: the continual step,
    how often the data was gone through before, and the position in this pass,
    counted over all processes. Of a batch of G draws process r of W takes
    those at r, r + W, r + 2 W ...: so W processes show the images of a batch
    that one process would show, each once.

    Args:
        dataset: What is drawn from.
        sampler: Config of the sampler that chooses.
        seed: Of the run.
        batch_size: G, of all processes; one draw of each by default.
        drop_last: Whether to leave out the draws of a pass that fill no
            batch. Otherwise a last batch with less than one draw a process is
            filled up with the first images, unless the sampler has
            ``round_up=False``.
    """

    def __init__(
        self,
        dataset: Sized,
        sampler: Mapping,
        seed: int | None = None,
        batch_size: int | None = None,
        drop_last: bool = False,
    ) -> None:
        self.dataset = dataset
        self.seed = sync_random_seed() if seed is None else seed
        self.rank, self.world_size = get_dist_info()
        self.sampler = DATA_SAMPLERS.build(
            dict(sampler), default_args=dict(dataset=dataset, seed=self.seed)
        )
        _choose_for_all(self.sampler, self.world_size)
        self.batch_size = batch_size or self.world_size
        # One that composes batches has to know them.
        if isinstance(self.sampler, MemorySampler):
            self.sampler.batch_size = self.batch_size
        self.drop_last = drop_last
        self.round_up = getattr(self.sampler, 'round_up', True)
        self.step = getattr(dataset, 'metainfo', {}).get('step', 0)
        self._pass = self._skipped = 0
        # MMEngine fast-forwards samplers that have this, when it resumes.
        if hasattr(self.sampler, 'skip'):
            self.skip = self._skip

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the next pass; otherwise passes are counted."""
        self._pass = epoch

    def _skip(self, num_samples: int) -> None:
        """Go to a position of this process in the first pass."""
        own = share(self.batch_size, self.rank, self.world_size)
        self._skipped = num_samples // own * self.batch_size
        self.sampler.skip(self._skipped)

    def __iter__(self) -> Iterator[Draw]:
        number, self._pass = self._pass, self._pass + 1
        start, self._skipped = self._skipped, 0
        # The order changes from pass to pass, with or without a hook.
        if hasattr(self.sampler, 'set_epoch'):
            self.sampler.set_epoch(number)
        for batch in self._batches(self.sampler, start):
            for position, index in batch[self.rank :: self.world_size]:
                draw = Draw(index)
                draw.key = (self.seed, self.step, number, position)
                yield draw

    def _batches(
        self, indices: Iterable[int], start: int
    ) -> Iterator[list[tuple[int, int]]]:
        """Yield the batches of all processes: positions and indices."""
        first: list[tuple[int, int]] = []
        draws = enumerate(indices, start)
        while batch := list(itertools.islice(draws, self.batch_size)):
            first = first or batch
            if len(batch) < self.batch_size and self.drop_last:
                return
            missing = self.world_size - len(batch) if self.round_up else 0
            again = itertools.cycle([index for _, index in first])
            for index in itertools.islice(again, max(missing, 0)):
                batch.append((batch[-1][0] + 1, index))
            yield batch

    def __len__(self) -> int:
        batches, rest = divmod(len(self.sampler), self.batch_size)
        own = share(self.batch_size, self.rank, self.world_size)
        if self.drop_last or not rest:
            return batches * own
        rest = max(rest, self.world_size) if self.round_up else rest
        return batches * own + share(rest, self.rank, self.world_size)


def share(batch_size: int, rank: int, world_size: int) -> int:
    """Return how many draws of a batch a process has."""
    return len(range(rank, batch_size, world_size))


def _choose_for_all(sampler: Any, world_size: int) -> None:
    """Have a sampler choose for all processes, not only for this one."""
    if isinstance(sampler, DefaultSampler):
        sampler.num_samples = sampler.total_size = len(sampler.dataset)
    elif not isinstance(sampler, InfiniteSampler):
        if world_size > 1 and hasattr(sampler, 'world_size'):
            raise ValueError(
                f'the sampler {type(sampler).__name__} shares the images '
                f'between the {world_size} processes itself, but they share '
                'whole batches: use DefaultSampler, InfiniteSampler, or one '
                'that yields the images of all processes'
            )
        return
    sampler.rank, sampler.world_size = 0, 1


@DATASETS.register_module()
class DrawDataset(RepeatDataset):
    """Seed the random generators before a sample is made.

    The outermost data set of a training; an index that is no :class:`Draw`
    leaves the generators alone.

    Args:
        dataset: Config of the data set.
    """

    def __init__(self, dataset: Mapping) -> None:
        super().__init__(dataset, times=1)

    def __getitem__(self, idx: int) -> Any:
        if isinstance(idx, Draw):
            words = np.random.SeedSequence(idx.key).generate_state(3).tolist()
            random.seed(words[0])
            np.random.seed(words[1])
            # Not torch.manual_seed, which goes on to the GPUs.
            torch.default_generator.manual_seed(words[2])
        return self.dataset[int(idx)]


def with_draws(loader: ConfigDict) -> ConfigDict:
    """Return the config of a training data loader that numbers its draws."""
    dataset = dict(type='DrawDataset', dataset=loader.dataset)
    sampler = dict(type='DrawSampler', sampler=loader.sampler)
    return ConfigDict(loader, dataset=dataset, sampler=sampler)


def share_batch(loader: Mapping[str, Any]) -> Mapping[str, Any]:
    """Turn the batch of all processes into that of this one.

    The config of a data loader that is numbered by :func:`with_draws` says
    the batch of all processes, so that it does not depend on them.

    Args:
        loader: Any config of a data loader; others are returned as they are.
    """
    if not isinstance(loader, Mapping):
        return loader
    sampler, size = loader.get('sampler') or {}, loader.get('batch_size', 1)
    if sampler.get('type') != 'DrawSampler' or 'batch_size' in sampler:
        return loader
    own = share(size, *get_dist_info())
    if loader.get('batch_sampler'):
        return ConfigDict(loader, batch_size=own)
    drop_last = loader.get('drop_last', False)
    sampler = dict(sampler, batch_size=size, drop_last=drop_last)
    return ConfigDict(loader, batch_size=own, sampler=sampler)
