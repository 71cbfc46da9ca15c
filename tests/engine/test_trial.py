"""A trial finds what only a call finds, and leaves no trace."""

import random

import numpy as np
import pytest
import torch
from mmengine.logging import MMLogger
from mmseg.models import FCNHead
from mmseg.registry import MODELS

from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.preflight import check_steps
from mmseg_rbc.engine.trial import SIDE, try_step


@MODELS.register_module(force=True)
class SizeHead(FCNHead):
    """Takes maps of one size only; remembers what it was shown."""

    sizes: list = []

    def __init__(self, wanted: int = 0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.wanted = wanted

    def forward(self, inputs):
        self.sizes.append(inputs[-1].shape[2])
        if self.training and self.wanted not in (0, inputs[-1].shape[2]):
            raise TypeError('another size')
        return super().forward(inputs)


@pytest.fixture
def trial(tiny_config):
    def run(method: str = 'rbc', steps=(0, 1), change=None, **options):
        cfg, merged = tiny_config(method, **options)
        (change or (lambda cfg: None))(cfg)
        configs = RunConfig(cfg, merged).steps('work')
        networks = check_steps(configs)
        for step in steps:
            previous = networks[0].state_dict() if step else None
            try_step(configs[step], networks[step], previous)
        return networks

    return run


def random_numbers():
    return random.random(), np.random.rand(), torch.rand(1).item()


def test_good_steps_use_up_no_random_number(trial):
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(5)
    expected = random_numbers()
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(5)
    logger = MMLogger.get_current_instance()
    level = logger.level
    _, second = trial('rbc')
    assert logger.level == level
    assert random_numbers() == expected
    assert second.teacher.num_classes == 16, 'step 1 had its teacher'
    assert all(p.grad is None for p in second.parameters())


@pytest.mark.parametrize('wanted, sizes', [(0, [16]), (32, [16, 32])])
def test_pictures_are_small_if_the_network_takes_them(trial, wanted, sizes):
    """Of 256 pixels 128 are shown, at output stride 8, in training."""
    SizeHead.sizes.clear()

    def change(cfg):
        cfg.model.decode_head.update(type='SizeHead', wanted=wanted)

    trial('ft', (0,), change, crop_size=(256, 256))
    assert SIDE == 128
    assert SizeHead.sizes[: len(sizes)] == sizes
    # The images of validation have 48 x 64 pixels, and are shown twice.
    assert SizeHead.sizes[len(sizes) :] == [6, 6]


def no_labels(cfg):
    del cfg.val_dataloader.dataset.pipeline[1]


def no_thresholds(cfg):
    cfg.custom_hooks = []


def own_head(cfg):
    cfg.model.decode_head.update(type='SizeHead', wanted=5)


@pytest.mark.parametrize(
    'change, sentence',
    [
        (
            own_head,
            '^step 0 fails in a trial with two images: TypeError: another s',
        ),
        (
            no_labels,
            'val_dataloader.dataset.pipeline loads no labels: add dict.type',
        ),
        (
            no_thresholds,
            '^step 1 .*: RuntimeError: the thresholds of the pseudo-labels a',
        ),
    ],
)
def test_what_only_a_call_finds(trial, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        trial('plop', change=change)


def test_duplets_and_stock_samples_have_labels(trial):
    """MMSeg's own transforms work too."""

    def stock(cfg):
        for phase in ('train', 'val'):
            pipeline = cfg[f'{phase}_dataloader'].dataset.pipeline
            pipeline[1].type = 'LoadAnnotations'
            pipeline[-1].type = 'PackSegInputs'
        cfg.model.type = 'EncoderDecoder'
        cfg.model.data_preprocessor.type = 'SegDataPreProcessor'
        cfg.pop('test_pipeline', None)
        cfg.pop('custom_imports', None)

    assert trial('rbc', change=stock)[1].teacher is not None
