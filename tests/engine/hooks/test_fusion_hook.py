"""EWF in real runs: fused once, before the last evaluation."""

import math
import shutil

import pytest
import torch
from helpers import Stop, assert_equal_weights, logged, weights
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner

from mmseg_rbc.engine import run_sequence
from mmseg_rbc.models.fusion import fuse_state_dict

CLASSIFIER = ('decode_head.conv_seg.weight', 'decode_head.conv_seg.bias')
# Five new classes of 21.
SHARE = math.sqrt(5 / 21)


@HOOKS.register_module()
class StopAtTheEnd(Hook):
    """Stop right after the fusion, or once it is evaluated."""

    def __init__(self, point: str) -> None:
        self.point = point

    def _stop(self, point: str) -> None:
        if point == self.point:
            raise Stop

    def before_val(self, runner) -> None:
        self._stop('before_val')

    def after_train(self, runner) -> None:
        self._stop('after_train')


@pytest.fixture(scope='module')
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp('fusion')


@pytest.fixture
def finished(runs, tiny_config):
    cfg, options = tiny_config('plop-ewf')
    return runs, run_sequence(cfg, str(runs), options=options)


def test_final_is_fused_from_the_trained_network(finished):
    work_dir, _ = finished
    old = weights(work_dir / 'step_0/final.pth')
    content = torch.load(work_dir / 'step_1/epoch_2.pth', weights_only=True)
    assert content['fused'] is False
    trained, final = (
        content['state_dict'],
        weights(work_dir / 'step_1/final.pth'),
    )
    assert_equal_weights(final, fuse_state_dict(old, trained, SHARE))
    # Fixed rows are those of the start, whose background made room.
    weight, bias = (trained[key][:16] for key in CLASSIFIER)
    assert torch.equal(weight, old[CLASSIFIER[0]])
    assert torch.equal(bias[1:], old[CLASSIFIER[1]][1:])
    assert bias[0] < old[CLASSIFIER[1]][0]
    new = trained[CLASSIFIER[0]][16:]
    assert (new - old[CLASSIFIER[0]][0]).abs().max() > 1e-3, 'they learn'


def test_the_fused_network_was_evaluated(finished, tmp_path):
    """A stock segmentor has the mIoU of ``finished.json``."""
    work_dir, results = finished
    step = Config.fromfile(work_dir / 'step_1/config.py')
    for key in ('method', 'previous', 'freeze_norm'):
        step.model.pop(key)
    step.model.type = 'EncoderDecoder'
    step.work_dir = str(tmp_path)
    step.load_from = str(work_dir / 'step_1/final.pth')
    # They ask for a continual segmentor.
    step.custom_hooks = []
    runner = Runner.from_cfg(step)
    content = torch.load(step.load_from, weights_only=True)
    assert set(content) == {'meta', 'state_dict'}
    assert set(content['state_dict']) == set(runner.model.state_dict())
    assert runner.test()['mIoU'] == results[1]['metrics']['mIoU']


def test_an_evaluation_does_not_fuse(finished, tmp_path):
    """Not even of a config without training, in which 0 of 0 are done."""
    work_dir, results = finished
    step = Config.fromfile(work_dir / 'step_1/config.py')
    for key in list(step):
        if key.startswith(('train_', 'optim_', 'param_')):
            step.pop(key)
    step.work_dir = str(tmp_path)
    step.load_from = str(work_dir / 'step_1/final.pth')
    step.custom_hooks = [
        hook for hook in step.custom_hooks if hook.type == 'FusionHook'
    ]
    assert len(step.custom_hooks) == 1
    runner = Runner.from_cfg(step)
    assert runner.val()['mIoU'] == results[1]['metrics']['mIoU']
    assert_equal_weights(runner.model.state_dict(), weights(step.load_from))


@pytest.mark.parametrize(
    'point, priority',
    [
        ('before_val', 'LOWEST'),
        ('after_train', 'LOWEST'),
    ],
)
def test_stopped_around_the_fusion(
    finished, tiny_config, tmp_path, point, priority
):
    work_dir, results = finished
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    cfg, options = tiny_config('plop-ewf')
    hook = dict(type='StopAtTheEnd', point=point, priority=priority)
    cfg.custom_hooks.append(hook)
    with pytest.raises(Stop):
        run_sequence(cfg, str(tmp_path), steps=[1], options=options)
    assert not (tmp_path / 'step_1/final.pth').exists()
    cfg, options = tiny_config('plop-ewf')
    again = run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert_equal_weights(
        weights(work_dir / 'step_1/final.pth'),
        weights(tmp_path / 'step_1/final.pth'),
    )
    assert again[1]['metrics'] == results[1]['metrics']


def test_stopped_while_it_trains(finished, tiny_config, tmp_path):
    work_dir, _ = finished
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    cfg, options = tiny_config('plop-ewf')
    cfg.custom_hooks.append(dict(type='StopHook', iteration=4))
    with pytest.raises(Stop):
        run_sequence(cfg, str(tmp_path), options=options)
    cfg, options = tiny_config('plop-ewf')
    run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert_equal_weights(
        weights(work_dir / 'step_1/final.pth'),
        weights(tmp_path / 'step_1/final.pth'),
    )


def test_a_fused_checkpoint_is_recognized(finished, tiny_config, tmp_path):
    """Another hook may write one after the fusion; it is not fused again."""
    work_dir, _ = finished
    shutil.copytree(work_dir, tmp_path, dirs_exist_ok=True)
    (tmp_path / 'step_1/finished.json').unlink()
    last = tmp_path / 'step_1/epoch_2.pth'
    content = torch.load(last, weights_only=True)
    content.update(
        fused=True, state_dict=weights(work_dir / 'step_1/final.pth')
    )
    torch.save(content, last)
    cfg, options = tiny_config('plop-ewf')
    run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert_equal_weights(
        weights(work_dir / 'step_1/final.pth'),
        weights(tmp_path / 'step_1/final.pth'),
    )


def test_fixed_rows_are_not_in_the_norm_that_is_clipped(
    finished, tiny_config, tmp_path
):
    work_dir, _ = finished
    norms = []
    for fixed in (True, False):
        changes = {
            'method.fusion.fix_old_rows': fixed,
            'schedule.later.epochs': 1,
            'default_hooks.logger.interval': 1,
        }
        folder = tmp_path / str(fixed)
        shutil.copytree(work_dir / 'step_0', folder / 'step_0')
        cfg, options = tiny_config('plop-ewf', **changes)
        run_sequence(cfg, str(folder), steps=[1], options=options)
        norms.append(logged(folder / 'step_1')[0]['grad_norm'])
    # Of the same weights and images, in the first iteration.
    assert 0 < norms[0] < 0.999 * norms[1]


def test_importance_is_of_the_trained_weights(tiny_config, tmp_path):
    """PI divides by the way of a weight, of which fusion takes a part."""
    fusion = {
        'method.importance': dict(type='PI', weight=10.0),
        'schedule.later.epochs': 1,
        'schedule.base.epochs': 1,
    }
    found = []
    for share in (1.0, 0.5):
        part = dict(type='EndpointsFusion', share=share)
        changes = {**fusion, 'method.fusion': part}
        cfg, options = tiny_config('pi', **changes)
        folder = tmp_path / str(share)
        run_sequence(cfg, str(folder), options=options)
        path = folder / 'step_1/importance.pth'
        found.append(torch.load(path, weights_only=True)['tensors'])
    for name, tensors in found[0].items():
        assert torch.equal(tensors['omega'], found[1][name]['omega']), name


def test_averaged_weights_are_refused(finished, tiny_config, tmp_path):
    work_dir, _ = finished
    shutil.copytree(work_dir / 'step_0', tmp_path / 'step_0')
    cfg, options = tiny_config('plop-ewf')
    cfg.custom_hooks.append(dict(type='EMAHook'))
    with pytest.raises(ValueError, match='cannot go with EMAHook'):
        run_sequence(cfg, str(tmp_path), options=options)
