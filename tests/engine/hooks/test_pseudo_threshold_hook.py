"""Thresholds of real data, against a loop over the images."""

import pytest
import torch
from mmengine.registry import HOOKS
from mmengine.runner import Runner

from mmseg_rbc.datasets import DrawSampler
from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.hooks.pseudo_threshold_hook import INFO_KEY, PASS
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.models.pseudo_labelers import normalized_entropy


@pytest.fixture
def start(tiny_run, tiny_config, tmp_path):
    """Build the Runner of step 1 before its training."""

    def build(method: str, **options) -> Runner:
        cfg, options = tiny_config(method, **options)
        labeler = cfg.method.get('pseudo_labeler', {})
        if labeler.get('type') == 'EntropyPseudoLabeler':
            labeler.estimator = 'median'
        previous = str(tiny_run / 'step_0/final.pth')
        cfg = step_config(cfg, 1, str(tmp_path), previous, options=options)
        cfg.experiment_name = f'{method}_{tmp_path.name}'
        runner = Runner.from_cfg(cfg)
        runner.model.init_weights()
        # One that predicts several classes; FT has none.
        torch.manual_seed(0)
        if runner.model.teacher is not None:
            classifier = runner.model.teacher.decode_head.conv_seg
            classifier.weight.data.normal_()
        assert len(runner.train_loop.dataloader.dataset) == 20
        return runner

    return build


def run_hook(runner: Runner) -> list[float]:
    HOOKS.build(dict(type='PseudoThresholdHook')).before_train(runner)
    return runner.model.pseudo_labeler.thresholds.tolist()


@torch.no_grad()
def medians(runner: Runner) -> list[float]:
    """The medians over all images, one at a time."""
    model, dataset = runner.model, runner.train_dataloader.dataset
    values = [[] for _ in range(16)]
    in_order = dict(type='DefaultSampler', shuffle=False)
    sampler = DrawSampler(dataset, in_order, runner.seed)
    sampler.set_epoch(PASS)
    for draw in sampler:
        sample = dataset[draw]
        data = model.data_preprocessor(
            dict(
                inputs=[sample['inputs']],
                data_samples=[sample['data_samples']],
            ),
            True,
        )
        logits = run_network(model.teacher, data['inputs']).logits[0]
        entropy = normalized_entropy(logits, 21)
        background = sample['data_samples'].gt_sem_seg.data[0] == 0
        for c in range(16):
            chosen = background & (logits.argmax(0) == c)
            values[c] += entropy[chosen].tolist()
    assert sum(map(bool, values)) > 3, 'several classes are predicted'
    return [
        max(0.001, sorted(v)[(len(v) - 1) // 2]) if v else 0.001
        for v in values
    ]


def test_every_image_counts_once(start):
    """Also those of an incomplete last batch: 20 images, batches of 8."""
    runner = start('plop')
    found = run_hook(runner)
    assert found == pytest.approx(medians(runner), rel=1e-4)
    assert runner.message_hub.get_info(INFO_KEY) == found
    assert max(found) > 0.001


def test_erased_views_do_not_count(start):
    """RBC shows the same images, and black holes beside them."""
    assert run_hook(start('rbc')) == pytest.approx(
        run_hook(start('plop')), rel=1e-5
    )


def test_resumed_run_keeps_its_thresholds(start):
    runner = start('plop')
    known = [0.01 * i for i in range(16)]
    runner.message_hub.update_info(INFO_KEY, known)
    assert run_hook(runner) == pytest.approx(known)


def test_methods_without_thresholds_are_left_alone(start):
    runner = start('ft')
    HOOKS.build(dict(type='PseudoThresholdHook')).before_train(runner)
    assert runner.message_hub.get_info(INFO_KEY) is None
    naive = dict(_delete_=True, type='NaivePseudoLabeler')
    runner = start('plop', **{'method.pseudo_labeler': naive})
    HOOKS.build(dict(type='PseudoThresholdHook')).before_train(runner)
    assert runner.message_hub.get_info(INFO_KEY) is None


def test_thresholds_travel_in_checkpoints(tiny_run):
    content = torch.load(tiny_run / 'step_1/epoch_1.pth', weights_only=True)
    known = content['message_hub']['runtime_info'][INFO_KEY]
    assert len(known) == 16
    log = next((tiny_run / 'step_1').glob('*/*.log')).read_text()
    text = ', '.join(f'{value:.5f}' for value in known)
    assert f'thresholds of the pseudo-labels: {text}' in log


def count_forwards(runner: Runner) -> list[int]:
    network = runner.model.teacher
    network = runner.model if network is None else network
    sizes: list[int] = []
    network.backbone.register_forward_pre_hook(
        lambda _, args: sizes.append(len(args[0]))
    )
    return sizes


@pytest.mark.parametrize('method', ['plop', 'mib', 'ft'])
def test_attributed_rows_share_the_pass(start, method):
    """20 images, and the zero one; the median looks at them three times."""
    runner = start(method, **{'method.classifier_init': 'attributed'})
    model = runner.model
    weight = model.decode_head.conv_seg.weight
    before, sizes = weight.detach().clone(), count_forwards(runner)
    hook = HOOKS.build(dict(type='PseudoThresholdHook'))
    hook.before_train(runner)
    passes = sum(sizes) // 20
    assert sum(sizes) == 20 * passes + 1
    assert passes == 1 or method == 'plop'
    assert model.training
    channels = runner.message_hub.get_info('attributed_channels')
    assert len(channels) == weight.shape[1] // 4
    assert torch.equal(weight[:16], before[:16])
    moved = weight[16:] - before[16:]
    torch.testing.assert_close(
        moved[:, channels], before[:1, channels].expand(5, -1, 1, 1)
    )
    assert moved.count_nonzero() == moved[:, channels].count_nonzero()
    # A resumed run has them in its weights already.
    after, sizes[:] = weight.detach().clone(), []
    hook.before_train(runner)
    assert torch.equal(weight, after) and not sizes
