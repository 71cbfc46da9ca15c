"""Keys of a config that nothing would read are refused."""

import pytest
from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.datasets.shapes import CLASSES
from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.config_parts import (
    check_parts,
    config_classes,
    continual_type,
    method_types,
)


def load(method: str = 'rbc', data: str = 'voc12aug', **options) -> Config:
    network = 'fcn-tiny' if data == 'shapes' else 'deeplabv3-r101-d16'
    name = f'{method}_{network}_{data}-15-1-overlapped.py'
    cfg = Config.fromfile(CONFIGS / method / name)
    cfg.merge_from_dict(options)
    return cfg


@pytest.mark.parametrize(
    'key, nearest',
    [
        ('continual.settings', 'setting'),
        ('continual.datroot', 'data_root'),
        ('method.ballance', 'balance'),
        ('method.losses.pod.wieght', 'weight'),
        ('method.losses.consistency.paring', 'pairing'),
        ('method.pseudo_labeler.estimater', 'estimator'),
        ('method.pseudo_labeler.adaptve', 'adaptive'),
        ('method.erase.fil', 'fill'),
        ('schedule.latter', 'later'),
        ('schedule.later.epoch', 'epochs'),
        ('schedule.base.batchsize', 'batch_size'),
    ],
)
def test_unknown_key_is_refused_with_the_nearest(key, nearest):
    sentence = f"^{key} is unknown: did you mean '{nearest}'\\?; .* takes "
    with pytest.raises(ValueError, match=sentence):
        check_parts(load(**{key: 1}))


@pytest.mark.parametrize(
    'key, nearest',
    [
        ('shedule.later.epochs', 'schedule'),
        ('metod.balance', 'method'),
        ('crop_sise', 'crop_size'),
        ('randomnes.seed', 'randomness'),
        ('optim_wraper.type', 'optim_wrapper'),
        ('default_hook.logger', 'default_hooks'),
        ('contiual.task', 'continual'),
        ('train_datalaoder.num_workers', 'train_dataloader'),
    ],
)
def test_misspelled_key_at_the_top(key, nearest):
    """In the config, and on the command line."""
    top = key.split('.')[0]
    sentence = f"^{top} is unknown at .*: did you mean '{nearest}'"
    cfg = load(**{key: 1})
    with pytest.raises(ValueError, match=sentence):
        check_parts(cfg)
    with pytest.raises(ValueError, match=sentence):
        check_parts(load(), [key])
    cfg.custom_keys = [top]
    check_parts(cfg, [key])


def test_variables_of_a_config():
    """Those that are like no key pass, but not as an option."""
    cfg = load(num_images=8, norm_cfg=dict(type='BN'), data_root='x')
    check_parts(cfg)
    with pytest.raises(ValueError, match="custom_keys = \\['num_images'\\]"):
        check_parts(cfg, ['num_images'])
    cfg.custom_keys = ['num_images']
    check_parts(cfg, ['num_images', 'schedule.base.lr'])


@pytest.mark.parametrize(
    'key, value, sentence',
    [
        ('method', 'rbc', "^method is 'rbc', expected a dict with some of ba"),
        ('recipe', 3, '^recipe is 3, expected a dict'),
        ('schedule.base', 5, '^schedule.base is 5, expected a dict with some'),
        ('method.losses', 'pod', "^method.losses is 'pod', expected a dict"),
        ('continual', 'x', "^continual is 'x', expected a dict"),
    ],
)
def test_part_that_is_no_dict(key, value, sentence):
    cfg = load()
    cfg.merge_from_dict({key: value})
    with pytest.raises(ValueError, match=sentence):
        check_parts(cfg)


def test_unknown_argument_of_a_regularizer():
    """RW takes what EWC takes, and an interval."""
    check_parts(load('rw', **{'method.importance.alpha': 0.5}))
    check_parts(load('rw', **{'method.importance.interval': 5}))
    with pytest.raises(ValueError, match='method.importance.interval is unk'):
        check_parts(load('ewc', **{'method.importance.interval': 5}))


@pytest.mark.parametrize(
    'key, value, sentence',
    [
        (
            'method.criterion.type',
            'PixelCrossEntropie',
            "^method.criterion.type='PixelCrossEntropie' is not registered: "
            "did you mean 'PixelCrossEntropy'",
        ),
        (
            'method.losses.pod.type',
            'LocalPODLos',
            "^method.losses.pod.type='LocalPODLos' .* mean 'LocalPODLoss'",
        ),
        (
            'method.erase.type',
            'NewClassEras',
            "^method.erase.type='NewClassEras' .* mean 'NewClassErase'",
        ),
        (
            'method.losses.pod',
            0.1,
            r'^method.losses.pod is 0.1, expected a dict with a type',
        ),
        (
            'method.criterion',
            'PixelCrossEntropy',
            "^method.criterion is 'PixelCrossEntropy', expected a dict",
        ),
    ],
)
def test_part_that_is_no_registered_class(key, value, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_parts(load(**{key: value}))


@pytest.mark.parametrize(
    'option',
    [
        {'continual.indices': 8},
        {'continual.data_root': 'elsewhere'},
        {'continual.use_shipped_index': False},
        {'continual.split_dir': 'splits', 'continual.unseen': 'ignore'},
        {'continual.ann_file': 'a.txt', 'continual.seed': 3},
        {'method.pseudo_labeler.adaptive': False},
        {'method.balance': False, 'method.erase': None},
        {'schedule.later.batch_size': 12},
    ],
    ids=str,
)
def test_known_keys_pass(option):
    check_parts(load(**option))


def test_keys_are_those_of_the_data_set():
    """Only VOC has a shipped index; the step is not for the user to set."""
    option = {'continual.use_shipped_index': False}
    with pytest.raises(ValueError, match='continual.use_shipped_index is unk'):
        check_parts(load(data='shapes', **option))
    for key in ('step', 'test_mode', 'pipeline'):
        with pytest.raises(ValueError, match=f'continual.{key} is unknown'):
            check_parts(load(**{f'continual.{key}': 1}))


def test_missing_task():
    cfg = load()
    del cfg.continual['task']
    with pytest.raises(ValueError, match='overlapped.py has no continual.tas'):
        check_parts(cfg)


def test_data_that_is_not_continual():
    cfg = load(**{'train_dataloader.dataset.type': 'LoveDADataset'})
    with pytest.raises(
        ValueError,
        match="dataset.type='LoveDADataset' is not continual: use .*Mixin",
    ):
        check_parts(cfg)
    cfg = load(**{'train_dataloader.dataset.type': 'ContinualVOC'})
    with pytest.raises(ValueError, match="mean 'ContinualVOCDataset'"):
        check_parts(cfg)


@pytest.mark.parametrize(
    'stock, ours',
    [
        ('PascalVOCDataset', 'ContinualVOCDataset'),
        ('CityscapesDataset', 'ContinualCityscapesDataset'),
        ('BaseSegDataset', 'ContinualDataset'),
        ('ContinualVOCDataset', 'ContinualVOCDataset'),
    ],
)
def test_stock_data_is_made_continual(stock, ours):
    assert continual_type(stock, 'here') == ours
    cfg = load(**{'train_dataloader.dataset.type': stock})
    if stock == 'PascalVOCDataset':
        dataset = step_config(cfg, 1).train_dataloader.dataset.dataset
        assert (dataset.type, dataset.step) == (ours, 1)


def test_classes_of_the_training_data():
    assert config_classes(load(data='shapes')) == list(CLASSES)
    voc = config_classes(load())
    assert len(voc) == 21 and voc[:2] == ['background', 'aeroplane']
    cfg = load(**{'continual.metainfo': dict(classes=['sky', 'sea'])})
    assert config_classes(cfg) == ['not learned yet', 'sky', 'sea']
    # Inside a wrapper.
    inner = cfg.train_dataloader.dataset
    cfg.train_dataloader.dataset = dict(type='RepeatDataset', dataset=inner)
    assert config_classes(cfg) == ['not learned yet', 'sky', 'sea']


def test_types_of_a_method():
    assert method_types(load('ft').method) == 'PixelCrossEntropy'
    assert method_types(load('rbc').method) == (
        'ContextConsistencyLoss, EntropyPseudoLabeler, LocalPODLoss, '
        'NewClassErase, PixelCrossEntropy, balance'
    )
