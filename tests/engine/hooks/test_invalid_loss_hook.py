"""A run whose loss is no number stops at once, and keeps what is good."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers import CONFIGS, run_tool
from mmengine.hooks import Hook
from mmengine.registry import HOOKS

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.engine.hooks.invalid_loss_hook import image_names
from mmseg_rbc.utils.checkpoint import load_checkpoint

GOOD = dict(loss=torch.tensor(1.0), loss_ce=torch.tensor(0.5))


@HOOKS.register_module()
class WriteNames(Hook):
    """Write the images of every batch before it is used."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def before_train_iter(self, runner, batch_idx, data_batch=None) -> None:
        samples = data_batch['data_samples']
        names = [Path(sample.img_path).name for sample in samples]
        self.batches.append(names)
        path = Path(runner.work_dir) / 'names.json'
        path.write_text(json.dumps(self.batches))


@HOOKS.register_module()
class InfiniteGradient(Hook):
    """Make the last gradient infinite; the loss is finite."""

    def before_train(self, runner) -> None:
        weight = next(runner.model.decode_head.parameters())
        weight.register_hook(
            lambda grad: grad / (runner.iter + 1 != runner.max_iters)
        )


def after(outputs: dict | None) -> None:
    """Call the hook after iteration 12, in epochs of 10 iterations."""
    dataset = SimpleNamespace(metainfo=dict(step=3))
    loader = SimpleNamespace(dataset=dataset)
    runner = SimpleNamespace(iter=11, epoch=1, train_dataloader=loader)
    hook = HOOKS.build(dict(type='InvalidLossHook'))
    views = [SimpleNamespace(metainfo=dict(img_path='x/a.jpg'))] * 2
    batch = dict(data_samples=[views[:1], views[1:]])
    hook.after_train_iter(runner, 1, batch, outputs)


@pytest.mark.parametrize('value', [float('nan'), float('inf')])
def test_invalid_loss_raises_at_once(value):
    after(GOOD)
    with pytest.raises(
        FloatingPointError,
        match=rf"^step 3: the loss is not finite \({{'loss_ce': {value}}}\) "
        'in epoch 2, iteration 12, on the images a.jpg: look at the images; '
        'clip gradients',
    ):
        after(dict(GOOD, loss_ce=torch.tensor(value)))


def test_what_is_no_loss_may_be_anything():
    after(dict(GOOD, acc_seg=torch.tensor(float('nan'))))
    after(None)


def test_names_of_a_duplet():
    samples = [SimpleNamespace(metainfo=dict(img_path=f'x/{n}')) for n in 'ab']
    batch = dict(data_samples=[samples, samples])
    assert list(image_names(batch)) == ['a', 'b', 'a', 'b']
    assert list(image_names(None)) == []


def test_a_training_that_diverges_names_its_images(tiny_config, tmp_path):
    """The learning rate makes weights of 1e30, and these a loss of NaN."""
    cfg, options = tiny_config('ft', **{'recipe.clip_norm': None})
    options['schedule.base.lr'] = 1e30
    cfg.merge_from_dict(options)
    cfg.custom_hooks.append(dict(type='WriteNames'))
    with pytest.raises(FloatingPointError) as info:
        run_sequence(cfg, str(tmp_path), options=options)
    text = str(info.value)
    found = re.search(r'epoch 1, iteration (\d+), on the images (.+?): ', text)
    assert found and "'loss_ce': nan" in text
    batches = json.loads((tmp_path / 'step_0/names.json').read_text())
    assert int(found[1]) == len(batches) > 1, 'at once'
    assert len(set(batches[-1])) == 8
    assert found[2].split(', ') == batches[-1] != batches[-2]
    assert not list(tmp_path.glob('step_0/*.pth')), 'no checkpoint is bad'


def test_weights_are_checked_before_they_are_saved(tiny_config, tmp_path):
    """The loss of epoch 2 is finite, but not its last gradient."""
    cfg, options = tiny_config('ft', **{'recipe.clip_norm': None})
    cfg.custom_hooks.append(dict(type='InfiniteGradient'))
    sentence = (
        r'^step 0: the weight decode_head\S+ is not finite in epoch 2, '
        r'iteration \d+, on the images \S+\.jpg, '
    )
    with pytest.raises(FloatingPointError, match=sentence):
        run_sequence(cfg, str(tmp_path), options=options)
    (kept,) = tmp_path.glob('step_0/*.pth')
    assert kept.name == 'epoch_1.pth'
    for weight in load_checkpoint(str(kept))['state_dict'].values():
        assert torch.isfinite(weight).all()


def test_the_tool_says_it_without_a_traceback(tiny_root, tmp_path):
    printed = run_tool(
        *('train.py', CONFIGS / 'rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py'),
        *('--work-dir', tmp_path, '--cfg-options', 'recipe.clip_norm=None'),
        *(f'continual.data_root={tiny_root}', 'schedule.base.lr=1e30'),
        *('crop_size=(32,32)', 'recipe.warmup_iters=None'),
        expected=1,
    )
    assert 'Traceback' not in printed
    last = printed.strip().splitlines()[-1]
    assert last.startswith('error: step 0: the loss is not finite (')
    assert ', on the images shapes_0' in last
    assert last.endswith('and run the step again without --resume')
