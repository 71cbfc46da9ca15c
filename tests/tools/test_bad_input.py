"""Bad input ends tools/train.py with one sentence, before step 0 trains."""

import re
import runpy
import shutil
import sys

import pytest
from helpers import CONFIGS, REPO, run_tool

CONFIG = CONFIGS / 'rbc/rbc_fcn-tiny_shapes-15-1-overlapped.py'
BAD = [
    (
        'schedule.later.epoch=3',
        'schedule.later.epoch is unknown: did you mean',
    ),
    ('shedule.later.epochs=3', "shedule is unknown at .* mean 'schedule'"),
    ('schedule.latter.epochs=3', "schedule.latter is unknown: .* 'later'"),
    ('schedule.base.batchsize=4', "batchsize is unknown: .* 'batch_size'"),
    ('metod.balance=False', "metod is unknown at .* mean 'method'"),
    ('crop_sise=32', "crop_sise is unknown at .* mean 'crop_size'"),
    ('randomnes.seed=3', "randomnes is unknown at .* mean 'randomness'"),
    ('optim_wraper.type=A', "optim_wraper is unknown .* 'optim_wrapper'"),
    ('default_hook.timer=A', "default_hook is unknown .* 'default_hooks'"),
    (
        'default_hooks.checkpoint.intervall=3',
        "default_hooks.checkpoint.intervall is unknown: .* 'interval'",
    ),
    ('method.ballance=True', "method.ballance is unknown: .* 'balance'"),
    ('method.criterion.type=Foo', "method.criterion.type='Foo' is not regis"),
    ('schedule.later.batch_size=7', 'a batch of 7 images cannot be filled wi'),
    ('model.decode_head.out_channels=3', 'model cannot be built: out_channel'),
    ('model.type=Nothing', "model.type='Nothing' is not registered"),
    ('train_dataloader.dataset.type=Foo', "dataset.type='Foo' is not regist"),
    ('schedule.base.batch_size=0', 'batch_size is 0, expected a whole number'),
    ('schedule.base.batch_size=abc', "batch_size is 'abc', expected a whole"),
    ('crop_size=0', 'crop_size is 0, expected one side of at least 1 pixel'),
    ('crop_size=big', "crop_size is 'big', expected one side"),
    ('crop_size=(32,32,32)', r'crop_size is \(32, 32, 32\), expected one sid'),
    ('schedule.base.epochs=1.5', 'epochs is 1.5, expected a whole number'),
    ('schedule.base.lr=high', "lr is 'high', expected a number above 0"),
    ('schedule.base.lr=0', 'lr is 0, expected a number above 0'),
    ('schedule=None', 'schedule.base is None, which lacks lr, batch_size, ep'),
    ('randomness.seed=-1', 'randomness.seed is -1, expected a whole number'),
    ('randomness.seed=99999999999', 'seed is 99999999999, expected a whole'),
    ('method.losses.pod.weight=abc', "pod.weight is 'abc', expected a numbe"),
    ('continual.task=abc', "task 'abc' is neither"),
    ('continual.setting=mixed', "setting 'mixed' is unknown"),
    ('continual.data_root=nowhere', 'image list nowhere/.* does not exist'),
    ('schedule.base.lr.x=1', 'schedule.base.lr.x=1 does not fit the config'),
    ('custom_hooks.9.type=A', 'custom_hooks.9.type=A does not fit the config'),
    ('train_dataloader.persistent_workers=True', 'num_workers is 0: set tra'),
    ('randomness=3', 'randomness is 3, expected a dict'),
    ('continual.order=3', 'order 3 is neither a letter such as "a" nor a lis'),
    ('continual.label_map=3', 'label_map is 3, expected the class names of m'),
    ('continual.ignore_values=3', 'ignore_values is 3, expected a list of ma'),
    (
        'train_dataloader.dataset.data_prefix=3',
        'train_dataloader.dataset: data_prefix is 3, expected a dict',
    ),
    ('custom_imports=3', 'custom_imports is 3, which cannot be imported'),
    (
        'custom_imports.imports=nothere',
        r'custom_imports is .*nothere.* \(Failed to import nothere\): expect',
    ),
    ('load_from=a.pth', "load_from is 'a.pth', but each step sets it"),
]


@pytest.fixture
def train(monkeypatch, tiny_root, tmp_path):
    """Run tools/train.py in this process; return how it ended."""

    def run(*args: object, config=CONFIG) -> str:
        options = [f'continual.data_root={tiny_root}', 'continual.task=15-5']
        argv = ['train.py', config, '--work-dir', tmp_path / 'work']
        argv += ['--cfg-options', *options, *args]
        monkeypatch.setattr(sys, 'argv', [str(arg) for arg in argv])
        with pytest.raises(SystemExit) as info:
            runpy.run_path(str(REPO / 'tools/train.py'), run_name='__main__')
        return str(info.value)

    return run


@pytest.mark.parametrize('option, sentence', BAD)
def test_option(train, tmp_path, option, sentence):
    text = train(option)
    assert re.match('error: .*' + sentence, text), text
    assert '\n' not in text
    assert not (tmp_path / 'work').exists(), 'nothing was begun'


@pytest.mark.parametrize(
    'name, content, sentence',
    [
        ('JPEGImages/{}.jpg', b'', r'cannot be read \(the file is empty\)'),
        ('JPEGImages/{}.jpg', b'abc', 'cannot be read .cannot identify'),
        ('SegmentationClassAug/{}.png', b'abc', 'cannot be decoded'),
        (
            'ImageSets/Segmentation/val.txt',
            b'\xef\xbb\xbfa',
            'byte-order mark',
        ),
        ('ImageSets/Segmentation/val.txt', b'a\na', "names 'a' more than onc"),
    ],
)
def test_data(train, tiny_root, tmp_path, name, content, sentence):
    root = tmp_path / 'data'
    shutil.copytree(tiny_root, root)
    names = (root / 'ImageSets/Segmentation/trainaug.txt').read_text().split()
    (root / name.format(names[-1])).write_bytes(content)
    text = train(f'continual.data_root={root}')
    assert re.match('error: .*' + sentence, text), text
    assert not (tmp_path / 'work').exists()


def test_processes_and_switches(tmp_path, tiny_root):
    """As a user calls them: no traceback, exit code 1."""
    options = ['--cfg-options', f'continual.data_root={tiny_root}']
    for args, sentence in [
        (['no.py'], 'error: config no.py does not exist'),
        ([CONFIG, '--amp', *options], 'error: optim_wrapper.type is AmpOpti'),
        (
            [CONFIG, *options, 'crop_sise=3'],
            'error: crop_sise is unknown at the top of the config: did you m',
        ),
    ]:
        text = run_tool('train.py', *args, cwd=tmp_path, expected=1)
        assert sentence in text and 'Traceback' not in text
