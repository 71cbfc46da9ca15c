"""Every draw of a sample has its own randomness, in real data loaders."""

from __future__ import annotations

import itertools
import pickle
import random

import numpy as np
import pytest
import torch
from mmcv.transforms import BaseTransform
from mmengine.config import ConfigDict
from mmengine.registry import TRANSFORMS
from mmengine.runner import Runner
from mmseg.registry import DATA_SAMPLERS

from mmseg_rbc.datasets import with_draws
from mmseg_rbc.datasets.draws import Draw

NUM_IMAGES = 5


@TRANSFORMS.register_module()
class DrawNumbers(BaseTransform):
    """Give a number of each random generator instead of an image."""

    def transform(self, results: dict) -> dict:
        drawn = (random.random(), np.random.rand(), float(torch.rand(1)))
        return dict(index=results['sample_idx'], drawn=drawn)


@DATA_SAMPLERS.register_module()
class PlainSampler:
    """A sampler that knows no epochs: the images in their order."""

    def __init__(self, dataset, seed=None):
        self.dataset = dataset

    def __iter__(self):
        return iter(range(len(self.dataset)))

    def __len__(self):
        return len(self.dataset)


@pytest.fixture
def single(write_data) -> dict:
    """Config of a data set of five images."""
    root = write_data({name: [[1, 3]] for name in 'abcde'})
    return dict(
        type='ContinualDataset',
        data_root=str(root),
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        ann_file='list.txt',
        metainfo=dict(classes=['background', *'abcd']),
        task='2-1',
        pipeline=[dict(type='DrawNumbers')],
    )


def repeated(single: dict) -> dict:
    return dict(type='RepeatDataset', dataset=single, times=3)


def joined(single: dict) -> dict:
    return dict(type='ConcatDataset', datasets=[single, dict(single)])


def nested(single: dict) -> dict:
    return dict(type='ConcatDataset', datasets=[repeated(single), single])


def build(dataset: dict, sampler: str = 'DefaultSampler', seed=7, **more):
    """Build a loader of MMEngine with batches of two."""
    cfg = ConfigDict(
        dataset=dataset, sampler=dict(type=sampler), batch_size=2, **more
    )
    return Runner.build_dataloader(with_draws(cfg), seed=seed)


def samples(batches) -> list[tuple]:
    """Return ``(index, drawn)`` of every sample."""
    found = []
    for batch in batches:
        found += zip(map(int, batch['index']), zip(*batch['drawn']))
    return [(i, tuple(map(float, drawn))) for i, drawn in found]


def drawn_numbers(found: list[tuple]) -> set:
    return {number for _, drawn in found for number in drawn}


@pytest.mark.parametrize('workers', [0, 2])
@pytest.mark.parametrize('wrap', [dict, repeated, joined, nested])
def test_no_draw_is_like_another(single, wrap, workers):
    """Without a hook, over three passes, whatever the wrapper."""
    loader = build(
        wrap(single), num_workers=workers, persistent_workers=workers > 0
    )
    found = [samples(loader) for _ in range(3)]
    length = len(loader.dataset)
    assert [len(one) for one in found] == [length] * 3
    assert len(drawn_numbers(sum(found, []))) == 3 * 3 * length
    orders = {tuple(index for index, _ in one) for one in found}
    assert len(orders) == 3, 'another order in each pass'


@pytest.mark.parametrize('wrap', [dict, nested])
@pytest.mark.parametrize('persistent', [True, False])
def test_workers_change_nothing(single, wrap, persistent):
    here = build(wrap(single))
    there = build(wrap(single), num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        assert samples(here) == samples(there)


def test_seed_and_step_matter(single):
    first = samples(build(single))
    assert samples(build(single)) == first, 'a second run repeats it'
    others = [
        samples(build(single, seed=8)),
        samples(build(dict(single, step=1))),
    ]
    for found in others:
        assert found
        assert not drawn_numbers(found) & drawn_numbers(first)


def test_resume_at_an_epoch(single):
    """MMEngine tells the sampler the epoch."""
    whole = build(single)
    passes = [samples(whole) for _ in range(4)]
    resumed = build(single)
    resumed.sampler.set_epoch(2)
    assert [samples(resumed), samples(resumed)] == passes[2:]


def test_stream_without_end(single):
    """Seven times through the images; resumed after four batches."""
    batches = list(itertools.islice(build(single, 'InfiniteSampler'), 18))
    found = samples(batches)
    assert len(drawn_numbers(found)) == 3 * 36
    resumed = build(single, 'InfiniteSampler')
    if not hasattr(resumed.sampler, 'skip'):
        pytest.skip('this MMEngine loads the batches to skip them')
    resumed.sampler.skip(4 * 2)
    assert samples(itertools.islice(resumed, 14)) == found[8:]


def test_sampler_that_knows_no_epochs(single):
    loader = build(single, 'PlainSampler')
    assert not hasattr(loader.sampler, 'skip')
    found = [samples(loader) for _ in range(2)]
    for one in found:
        assert [index for index, _ in one] == list(range(NUM_IMAGES))
    assert len(drawn_numbers(sum(found, []))) == 2 * 3 * NUM_IMAGES


def test_processes_share_the_draws(single):
    """Two processes draw what one does, and nothing twice."""
    one, *two = (build(dict(single, indices=4)).sampler for _ in range(3))
    for rank, sampler in enumerate(two):
        for owner in (sampler, sampler.sampler):
            owner.rank, owner.world_size = rank, 2
    found = [[(int(d), d.key) for d in sampler] for sampler in (one, *two)]
    assert found[0] == [x for pair in zip(*found[1:]) for x in pair]


def test_plain_index_leaves_the_generators_alone(single):
    dataset = build(single).dataset
    drawn = []
    for _ in range(2):
        random.seed(1), np.random.seed(1), torch.manual_seed(1)
        drawn.append(dataset[0]['drawn'])
    assert drawn[0] == drawn[1] != dataset[0]['drawn']


def test_draw_is_an_index_that_can_travel():
    draw = Draw(3)
    draw.key = (1, 2)
    other = pickle.loads(pickle.dumps(draw))
    assert other == 3 and other.key == (1, 2)
