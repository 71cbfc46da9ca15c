"""The batch of a step, for any number of processes."""

import pytest
from helpers import CONFIGS
from mmengine.config import Config, ConfigDict

from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.batch import (
    fit_batch,
    growth_sentence,
    images_of_step,
)

NAME = 'rbc/rbc_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'


def steps(world_size: int, options: dict | None = None) -> list[Config]:
    cfg = Config.fromfile(CONFIGS / NAME)
    cfg.merge_from_dict(options or {})
    return RunConfig(cfg, options).steps('work', world_size)


def batches(configs: list[Config]) -> list[tuple]:
    return [
        (cfg.train_dataloader.batch_size, cfg.optim_wrapper.optimizer.lr)
        for cfg in configs
    ]


@pytest.mark.parametrize('world_size', [1, 2, 3, 5, 7, 8, 12])
def test_published_batch(world_size):
    """24 images in step 0, then 12 with two views each."""
    configs = steps(world_size)
    assert batches(configs) == [(24, 0.01), *[(12, 0.001)] * 5]
    assert growth_sentence(steps(1), configs) is None


def test_more_processes_than_images():
    configs = steps(16)
    grown = (16, pytest.approx(0.001 * 16 / 12))
    assert batches(configs) == [(24, 0.01), *[grown] * 5]
    assert growth_sentence(steps(1), configs) == (
        'more processes than images in a batch: it grows to one image a '
        'process, and the learning rate with it (step 1, 2, 3, 4, 5: 12 to '
        '16 images, lr 0.001 to 0.00133)'
    )
    assert batches(steps(48)) == [
        (48, pytest.approx(0.02)),
        *[(48, pytest.approx(0.004))] * 5,
    ]


def test_batch_of_a_process():
    """As in MMSeg, if it is set there."""
    configs = steps(4, {'train_dataloader.batch_size': 3})
    assert batches(configs)[1] == (12, 0.001)


def test_half_a_duplet():
    with pytest.raises(ValueError, match='a batch of 7 images cannot be fil'):
        steps(1, {'schedule.later.batch_size': 7})


@pytest.mark.parametrize('share', [0, 0.5, 0.9])
@pytest.mark.parametrize('num_images', [1, 3, 40])
def test_batch_that_no_step_can_fill(num_images, share):
    """At once, however large it is."""
    sampler = dict(sampler=dict(type='MemorySampler', share=share))
    loader = ConfigDict(batch_size=10**19, sampler=sampler)
    fit_batch(loader, num_images, 0)
    assert images_of_step(loader) <= num_images
    loader.batch_size += 1
    assert images_of_step(loader) > num_images
