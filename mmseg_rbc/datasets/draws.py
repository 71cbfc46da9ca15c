"""The randomness of a sample: every draw has its own.

A sampler is the only place that knows which draw comes when, whatever loop
asks for it; the outermost data set is the first that gets an index, whatever
wrappers do with it. So :class:`DrawSampler` numbers what a sampler yields, and
:class:`DrawDataset` seeds the random generators with that number before any
data set or transform uses them. Nothing depends on hooks, on workers or on the
number of processes, and a resumed run draws what an uninterrupted one does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sized
from typing import Any

import numpy as np
import torch
from mmengine.config import ConfigDict
from mmengine.dataset import RepeatDataset
from mmengine.dist import get_dist_info, sync_random_seed
from mmseg.registry import DATA_SAMPLERS, DATASETS
from torch.utils.data import Sampler


class Draw(int):
    """The index of a sample, and what its randomness depends on."""

    key: tuple[int, ...] = ()


@DATA_SAMPLERS.register_module()
class DrawSampler(Sampler):
    """Number the draws of another sampler.

    The key of a draw is ``(seed, step, pass, position)``: the continual step,
    how often the data was gone through before, and the position in this pass,
    counted over all processes.

    Args:
        dataset: What is drawn from.
        sampler: Config of the sampler that chooses.
        seed: Of the run.
    """

    def __init__(
        self, dataset: Sized, sampler: Mapping, seed: int | None = None
    ) -> None:
        self.dataset = dataset
        self.seed = sync_random_seed() if seed is None else seed
        self.sampler = DATA_SAMPLERS.build(
            dict(sampler), default_args=dict(dataset=dataset, seed=self.seed)
        )
        self.rank, self.world_size = get_dist_info()
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
        self.sampler.skip(num_samples)
        self._skipped = num_samples

    def __iter__(self) -> Iterator[Draw]:
        number, self._pass = self._pass, self._pass + 1
        start, self._skipped = self._skipped, 0
        # The order changes from pass to pass, with or without a hook.
        if hasattr(self.sampler, 'set_epoch'):
            self.sampler.set_epoch(number)
        for count, index in enumerate(self.sampler, start):
            draw = Draw(index)
            position = count * self.world_size + self.rank
            draw.key = (self.seed, self.step, number, position)
            yield draw

    def __len__(self) -> int:
        return len(self.sampler)


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
