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

from mmseg_rbc.datasets import share_batch, with_draws
from mmseg_rbc.datasets.draws import Draw, _choose_for_all

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


def shared(dataset: dict, world_size: int, **more) -> list:
    """Return the sampler of every process."""
    samplers = []
    for rank in range(world_size):
        sampler = build(dataset).sampler
        sampler.rank, sampler.world_size = rank, world_size
        for key, value in dict(dict(batch_size=world_size), **more).items():
            setattr(sampler, key, value)
        samplers.append(sampler)
    return samplers


def draws(sampler) -> list[tuple]:
    return [(int(draw), draw.key) for draw in sampler]


def test_processes_share_the_draws(single):
    """Two processes draw what one does, and nothing twice."""
    (one,) = shared(dict(single, indices=4), 1)
    two = [draws(sampler) for sampler in shared(dict(single, indices=4), 2)]
    assert draws(one) == [x for pair in zip(*two) for x in pair]


@pytest.mark.parametrize('world_size, sizes', [(2, [2, 1]), (3, [1, 1, 1])])
def test_whole_batches_are_shared(single, world_size, sizes):
    """15 draws in batches of 3, twice: each process has its share."""
    every = draws(shared(repeated(single), 1, batch_size=3)[0])
    found = shared(repeated(single), world_size, batch_size=3)
    assert [len(sampler) for sampler in found] == [5 * n for n in sizes]
    own = [draws(sampler) for sampler in found]
    for i in range(5):
        batch = [
            draw
            for n, part in zip(sizes, own)
            for draw in part[i * n : i * n + n]
        ]
        assert sorted(batch) == sorted(every[3 * i : 3 * i + 3])


def test_last_batch(single):
    """Five draws in batches of 4: dropped, filled up, or left as it is."""
    first = [index for index, _ in draws(build(single).sampler)]
    for more, expected in (
        (dict(drop_last=True), [[0], [1], [2], [3]]),
        (dict(), [[0, 4], [1, 0], [2, 1], [3, 2]]),
        (dict(round_up=False), [[0, 4], [1], [2], [3]]),
    ):
        found = shared(single, 4, batch_size=4, **more)
        assert [len(sampler) for sampler in found] == [*map(len, expected)]
        indices = [[int(draw) for draw in sampler] for sampler in found]
        assert indices == [[first[i] for i in own] for own in expected]
    keys = [draw.key for sampler in shared(single, 4) for draw in sampler]
    assert len(set(keys)) == 8, 'an image that fills up is another draw'


def test_shared_stream_is_resumed_at_its_batch(single):
    if not hasattr(build(single, 'InfiniteSampler').sampler, 'skip'):
        pytest.skip('this MMEngine loads the batches to skip them')
    for rank, own in enumerate((2, 1)):
        whole, resumed = (
            build(single, 'InfiniteSampler').sampler for _ in range(2)
        )
        for sampler in (whole, resumed):
            sampler.rank, sampler.world_size, sampler.batch_size = rank, 2, 3
        resumed.skip(4 * own)
        found = [
            [draw.key for draw in itertools.islice(sampler, 8 * own)]
            for sampler in (whole, resumed)
        ]
        assert found[1][: 4 * own] == found[0][4 * own :]


def test_config_says_the_batch_of_all_processes(single):
    loader = with_draws(
        ConfigDict(
            dataset=single, sampler=dict(type='DefaultSampler'), batch_size=3
        )
    )
    own = share_batch(loader)
    assert own['batch_size'] == own['sampler']['batch_size'] == 3
    assert share_batch(own) is own
    val = dict(sampler=dict(type='DefaultSampler'), batch_size=2)
    assert share_batch(val) is val


def test_sampler_that_shares_by_itself():
    class Own:
        world_size = 2

    with pytest.raises(ValueError, match='Own shares the images between the'):
        _choose_for_all(Own(), 2)
    _choose_for_all(Own(), 1)


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
