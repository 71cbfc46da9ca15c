"""Step 0 of a run serves another one; test_sequence.py trains on it."""

import pytest
import torch
from helpers import assert_equal_weights, weights

from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.adoption import adopt_step_0
from mmseg_rbc.engine.preflight import check_steps
from mmseg_rbc.runs import StepDir


@pytest.fixture
def make_run(tiny_config):
    def make(method: str = 'ft', **options) -> RunConfig:
        return RunConfig(*tiny_config(method, **options))

    return make


def adopt(source: str, target: StepDir, run: RunConfig) -> None:
    network, *_ = check_steps(run.steps('work'))
    adopt_step_0(source, target, run, network.state_dict())


@pytest.mark.parametrize('name', ['', 'step_0/final.pth'])
def test_work_dir_or_checkpoint(tiny_run, make_run, tmp_path, name):
    target = StepDir(str(tmp_path / 'step_0'))
    adopt(str(tiny_run / name), target, make_run())
    source = tiny_run / 'step_0/final.pth'
    assert_equal_weights(weights(target.final), weights(source))
    content = torch.load(target.final, weights_only=True)
    assert set(content) == {'meta', 'state_dict'}
    assert content['meta']['dataset_meta']['step'] == 0


def test_importance_comes_along(tiny_run, make_run, tmp_path):
    source = StepDir(str(tmp_path / 'step_0'))
    target = StepDir(str(tmp_path / 'other'))
    run = make_run('ewc')
    adopt(str(tiny_run), source, make_run())
    with pytest.raises(FileNotFoundError, match='needs the importance of the'):
        adopt(source.final, target, run)
    torch.save(dict(fisher=1), source.importance)
    adopt(source.final, target, run)
    assert torch.load(target.importance, weights_only=True) == dict(fisher=1)


@pytest.mark.parametrize(
    'options, sentence',
    [
        ({'continual.setting': 'disjoint'}, "with setting 'overlapped'"),
        ({'continual.order': 'b'}, 'with classes'),
        (
            {'method.base_criterion': dict(type='OneVsRestCrossEntropy')},
            "with base_criterion 'PixelCrossEntropy'",
        ),
        (
            {'model.backbone.depth': 34},
            r'is of another network .*: \d+ are missing \(backbone.la',
        ),
        (
            {'model.decode_head.channels': 32},
            r'have another shape \(decode_head.conv_seg.weight is 16 x 64 ',
        ),
    ],
)
def test_step_0_of_another_kind(
    tiny_run, make_run, tmp_path, options, sentence
):
    target = StepDir(str(tmp_path / 'step_0'))
    with pytest.raises(ValueError, match=sentence):
        adopt(str(tiny_run), target, make_run(**options))
    assert not (tmp_path / 'step_0').exists()
    with pytest.raises(FileNotFoundError, match='--init-from: .* not exist'):
        adopt('nowhere', target, make_run())


def test_stock_network_without_background(tiny_run, make_run, tmp_path):
    """It is told which tool takes it."""
    run = make_run()
    content = torch.load(tiny_run / 'step_0/final.pth', weights_only=True)
    names = run.identity(0)['classes'][1:]
    meta = dict(dataset_meta=dict(classes=tuple(names)))
    source = tmp_path / 'stock.pth'
    torch.save(dict(content, meta=meta), source)
    with pytest.raises(ValueError, match='no background, .*add_classes.py'):
        adopt(str(source), StepDir(str(tmp_path / 'step_0')), run)
