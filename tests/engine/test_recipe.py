"""The switches of the recipe, in the config and in whole runs."""

import shutil
from pathlib import Path

import pytest
import torch
from helpers import Stop, assert_equal_weights, weights
from mmengine.config import Config
from mmseg.registry import MODELS

from mmseg_rbc.engine import run_sequence, step_config

CONFIGS = Path(__file__).parents[2] / 'configs'
SWITCHES = dict(
    freeze_norm=True,
    frozen=['backbone.stem'],
    relative_pod=0.4,
    new_share=0.1,
    new_rows_lr=5.0,
    warmup_iters=3,
    clip_norm=2.0,
)


def large(method: str = 'plop', **recipe) -> Config:
    name = f'{method}_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    cfg = Config.fromfile(CONFIGS / method / name)
    cfg.recipe = recipe
    return cfg


def test_every_switch_reaches_later_steps():
    cfg = step_config(large(**SWITCHES), 1)
    assert cfg.model.freeze_norm
    assert cfg.model.frozen == ['backbone.stem']
    pod = cfg.model.method.losses.pod
    assert (pod.relative, pod.weight) == (True, 0.4)
    assert pod.logits_weight == pytest.approx(0.02)
    assert cfg.model.method.new_share == 0.1
    assert cfg.custom_hooks[-1] == dict(type='NewRowsHook', factor=5.0)
    rise, poly = cfg.param_scheduler
    assert (rise.type, rise.end) == ('LinearLR', 3)
    assert poly.type == 'PublishedPolyLR'
    assert cfg.optim_wrapper.clip_grad == dict(max_norm=2.0)
    assert 'recipe' not in cfg


def test_step_0_and_configs_without_a_recipe_are_untouched():
    for cfg in (step_config(large(**SWITCHES), 0), step_config(large(), 1)):
        assert not {'freeze_norm', 'frozen'} & set(cfg.model)
        assert 'clip_grad' not in cfg.optim_wrapper
        assert 'new_share' not in cfg.model.method
        assert len(cfg.param_scheduler) == 1
        assert 'NewRowsHook' not in [hook.type for hook in cfg.custom_hooks]


@pytest.mark.parametrize(
    ('method', 'length', 'epochs'),
    [
        ('rbc', dict(epochs=30), 15),
        ('rbc', dict(epochs=5), 3),
        ('rbc', dict(epochs=1), 1),
        ('plop', dict(epochs=30), 30),
        ('rbc', dict(iters=30), None),
    ],
)
def test_equal_steps_halve_the_epochs_of_duplets_alone(method, length, epochs):
    cfg = large(method, equal_steps=True)
    cfg.schedule.later.pop('epochs')
    cfg.schedule.later.update(length)
    base, later = step_config(cfg, 0), step_config(cfg, 1)
    assert base.train_cfg.max_epochs == cfg.schedule.base.epochs
    if epochs is None:
        assert later.train_cfg.max_iters == length['iters']
    else:
        assert later.train_cfg.max_epochs == epochs
        assert later.param_scheduler[0].end == epochs
    cfg.recipe = dict(equal_steps=False)
    part = step_config(cfg, 1).train_cfg
    assert part.get('max_epochs', part.get('max_iters')) in length.values()


def test_methods_without_pod():
    losses = step_config(large('mib', relative_pod=1.0), 1).model.method.losses
    assert losses == dict(
        kd=dict(type='KnowledgeDistillationLoss', unbiased=True, weight=100.0)
    )


def test_the_consistency_of_rbc_becomes_relative():
    losses = step_config(large('rbc', relative_consistency=0.03), 1)
    losses = losses.model.method.losses
    assert losses.consistency == dict(
        type='ContextConsistencyLoss',
        pairing='student',
        weight=0.03,
        relative=True,
    )
    assert 'relative' not in losses.pod


def test_methods_with_random_rows_share_nothing():
    method = step_config(large('ft', new_share=0.1), 1).model.method
    assert 'new_share' not in method


def test_a_share_is_a_part():
    cfg = step_config(large(new_share=1.5), 1)
    with pytest.raises(ValueError, match='new_share=1.5 is no part'):
        MODELS.build(dict(cfg.model, backbone=dict(type='MobileNetV2')))


def test_misspelled_switch():
    with pytest.raises(
        ValueError, match="recipe.freeze_norms is unknown.*'fr"
    ):
        step_config(large(freeze_norms=True), 1)


def make(tiny_config):
    options = {f'recipe.{key}': value for key, value in SWITCHES.items()}
    return tiny_config('rbc', **options)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('recipe')


@pytest.fixture
def base(folder, tiny_config):
    """Return the work dir of a run with all switches."""
    cfg, options = make(tiny_config)
    run_sequence(cfg, str(folder), options=options)
    return folder


def test_frozen_norms_do_not_move(base):
    before, after = (
        weights(base / f'step_{step}/final.pth') for step in (0, 1)
    )
    statistics = [key for key in before if 'running_' in key]
    assert len(statistics) > 10
    assert_equal_weights(
        {key: before[key] for key in statistics},
        {key: after[key] for key in statistics},
    )
    key = 'backbone.layer1.0.conv1.weight'
    assert not (before[key] == after[key]).all(), 'the rest is trained'


def test_frozen_parts_are_not_in_the_optimizer(base):
    sizes = []
    for step in (0, 1):
        path = base / f'step_{step}/epoch_2.pth'
        content = torch.load(path, weights_only=True)
        names = [
            name
            for name in content['state_dict']
            if name.endswith(('weight', 'bias'))
        ]
        groups = content['optimizer']['param_groups']
        found = sum(len(group['params']) for group in groups)
        frozen = [name for name in names if name.startswith('backbone.stem')]
        assert found == len(names) - len(frozen if step else [])
        assert len(content['optimizer']['state']) == found
        sizes.append(found)
    assert sizes[1] < sizes[0]
    before, after = (
        weights(base / f'step_{step}/final.pth') for step in (0, 1)
    )
    stem = [name for name in before if name.startswith('backbone.stem')]
    assert_equal_weights(
        {key: before[key] for key in stem}, {key: after[key] for key in stem}
    )


@pytest.mark.parametrize('iteration', [2, 6])
def test_stopped_and_resumed_run_ends_the_same(
    base, tiny_config, tmp_path, iteration
):
    """In the warm-up, and after the first checkpoint."""
    shutil.copytree(base / 'step_0', tmp_path / 'step_0')
    cfg, options = make(tiny_config)
    cfg.custom_hooks.append(dict(type='StopHook', iteration=iteration))
    with pytest.raises(Stop):
        run_sequence(cfg, str(tmp_path), options=options)
    cfg, options = make(tiny_config)
    run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert_equal_weights(
        weights(tmp_path / 'step_1/final.pth'),
        weights(base / 'step_1/final.pth'),
    )
