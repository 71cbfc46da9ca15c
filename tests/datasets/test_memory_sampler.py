"""Batches of the step and of the memory, whoever shares them."""

from itertools import islice
from types import SimpleNamespace

import pytest

from mmseg_rbc.datasets import DrawSampler, MemorySampler
from mmseg_rbc.datasets.memory_sampler import draws_of_step


class Images(list):
    """Stands for a data set around a MemoryDataset."""

    num_memory = 3


def sampler(num_images: int = 10, batch_size: int = 4, **kwargs):
    dataset = Images(range(num_images + Images.num_memory))
    made = MemorySampler(SimpleNamespace(dataset=dataset), **kwargs)
    made.batch_size = batch_size
    return made


def batches(made, size: int = 4) -> list[list[int]]:
    found = list(made)
    assert len(found) == len(made)
    return [found[i : i + size] for i in range(0, len(found), size)]


def test_half_of_each_batch_is_memory():
    found = batches(sampler())
    assert [len(batch) for batch in found] == [4] * 5
    own = [index for batch in found for index in batch[:2]]
    kept = [index for batch in found for index in batch[2:]]
    assert sorted(own) == [*range(10)], 'each image of the step once'
    # Each turn of the memory shows all of it.
    turns = [sorted(kept[i : i + 3]) for i in (0, 3, 6)]
    assert turns == [[10, 11, 12]] * 3 and kept[9] in (10, 11, 12)


def test_what_is_left_makes_a_smaller_batch():
    *full, last = batches(sampler(num_images=11))
    assert len(full) == 5 and len(last) == 2
    assert last[0] < 11 <= last[1]


def test_share():
    assert [draws_of_step(n, 0.5) for n in (1, 2, 3, 24)] == [1, 1, 2, 12]
    assert [draws_of_step(n, 0.25) for n in (3, 4, 24)] == [3, 3, 18]
    assert draws_of_step(24, 0) == 24
    first, *_ = batches(sampler(share=0.25))
    assert [index < 10 for index in first] == [True, True, True, False]


def test_orders_of_passes_and_seeds():
    def order(epoch: int = 0, **kwargs) -> list[int]:
        made = sampler(**kwargs)
        made.set_epoch(epoch)
        return list(made)

    assert order() == order()
    assert order() != order(epoch=1) and order() != order(seed=1)
    plain = [0, 1, 10, 11, 2, 3, 12, 10]
    assert order(shuffle=False)[:8] == plain


def test_an_endless_pass_goes_on_anywhere():
    whole = list(islice(sampler(infinite=True), 100))
    assert len({tuple(whole[i : i + 20]) for i in range(0, 100, 20)}) == 5
    for position in (1, 40, 63):
        made = sampler(infinite=True)
        made.skip(position)
        assert [*islice(made, 10)] == whole[position : position + 10]


@pytest.mark.parametrize('world_size', [1, 2, 3])
def test_processes_share_both_halves(world_size, monkeypatch):
    """As in one process; each has images of the step and of the memory."""
    dataset = SimpleNamespace(dataset=Images(range(21)), metainfo={})
    shares = []
    for rank in range(world_size):
        where = 'mmseg_rbc.datasets.draws.get_dist_info'
        monkeypatch.setattr(where, lambda r=rank: (r, world_size))
        made = DrawSampler(dataset, dict(type='MemorySampler'), 0, 6, True)
        draws = list(made)
        assert len(draws) == len(made)
        shares.append(draws)
        assert {draw < 18 for draw in draws} == {True, False}
    expected = sampler(num_images=18, batch_size=6)
    whole = {draw.key[-1]: int(draw) for part in shares for draw in part}
    assert [whole[i] for i in sorted(whole)] == list(expected)
