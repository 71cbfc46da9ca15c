"""What a later step cannot be built from is found before step 0 trains."""

import pytest
import torch
from mmseg.models import FCNHead
from mmseg.registry import MODELS, TRANSFORMS
from torch import nn

from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.preflight import build, check_steps


@pytest.fixture
def check(tiny_config):
    def run(method: str = 'rbc', **options):
        cfg, merged = tiny_config(method, **options)
        return check_steps(RunConfig(cfg, merged).steps('work'))

    return run


@pytest.mark.parametrize(
    'option, sentence',
    [
        (
            {'method.pseudo_labeler.estimator': 'mean'},
            "^model cannot be built: estimator='mean' is unknown: choose one",
        ),
        (
            {'method.classifier_init': 'zero'},
            "^model cannot be built: classifier_init='zero' is unknown: choo",
        ),
        (
            {'method.losses.consistency.pairing': 'none'},
            "^model cannot be built: pairing='none' is",
        ),
        (
            {'method.erase.fill': 'blue'},
            "pipeline.4 cannot be built: fill='blue' is unknown: choose one o",
        ),
        ({'model.backbone.depth': 19}, '^model cannot be built: .*19'),
        (
            {
                'model.decode_head.loss_decode.type': 'CrossEntropyLoss',
                'model.decode_head.loss_decode.loss_weight': -1,
            },
            'loss_weight of FCNHead is -1, expected a number of at least 0',
        ),
        (
            {'model.decode_head.sampler': dict(type='OHEMPixelSampler')},
            '^model cannot be built: FCNHead has a sampler',
        ),
        (
            {'train_dataloader.dataset.pipeline.3.prob': 'often'},
            '^train_dataloader.dataset.pipeline.3 cannot be built: .*prob',
        ),
        (
            {'optim_wrapper.optimizer.momentum': -1},
            '^optim_wrapper cannot be built: Invalid momentum value: -1',
        ),
        (
            {'custom_hooks.0': dict(type='EMAHook', begin_iter=-1)},
            '^custom_hooks.0 cannot be built: .*begin_iter',
        ),
        (
            {'default_hooks.checkpoint.save_best': 'foo'},
            '^default_hooks.checkpoint cannot be built: Cannot infer the rule',
        ),
        (
            {'default_hooks.logger.interval': 0},
            '^default_hooks.logger cannot be built: interval must be greater',
        ),
        (
            {'model.backbone.init_cfg': dict(type='Pretrained')},
            '^model.backbone.init_cfg cannot be built: .*checkpoint',
        ),
        (
            {'model.decode_head.init_cfg': [dict(type='Constant')]},
            '^model.decode_head.init_cfg cannot be built: .*val',
        ),
    ],
    ids=str,
)
def test_part_that_cannot_be_built(check, option, sentence):
    with pytest.raises(ValueError, match=sentence):
        check(**option)


def test_head_that_cannot_grow(tiny_config):
    """Its second classifier has another name."""

    @MODELS.register_module(force=True)
    class TwoClassifiers(FCNHead):
        def __init__(self, **kwargs) -> None:
            super().__init__(**kwargs)
            self.second = nn.Conv2d(64, self.num_classes, 1)

    cfg, _ = tiny_config('ft')
    cfg.model.decode_head.type = 'TwoClassifiers'
    sentence = "^weight 'decode_head.second.* only the classifier .*can grow$"
    with pytest.raises(ValueError, match=sentence):
        check_steps(RunConfig(cfg).steps('work'))


@pytest.mark.skipif(torch.cuda.is_available(), reason='has an accelerator')
def test_mixed_precision_needs_an_accelerator(check):
    with pytest.raises(ValueError, match=r'\(--amp\), which needs an acceler'):
        check(**{'optim_wrapper.type': 'AmpOptimWrapper'})


def test_good_steps_and_the_network_of_step_0(check):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    first, second = check('ewc')
    assert second.num_classes == 21
    state = first.state_dict()
    assert state['decode_head.conv_seg.weight'].shape == (16, 64, 1, 1)
    assert torch.rand(2).equal(expected), 'random numbers are left alone'


def test_error_without_words():
    @TRANSFORMS.register_module(force=True)
    class Wordless:
        def __init__(self) -> None:
            raise AssertionError

    with pytest.raises(ValueError, match='^here cannot be built: AssertionEr'):
        build(dict(type='Wordless'), TRANSFORMS, 'here')
