"""A step is resumed with the settings that it was begun with."""

import json
import shutil

import pytest
from helpers import assert_equal_weights, make_tiny_config, weights
from mmengine.config import Config
from mmengine.logging import MMLogger

from mmseg_rbc.engine import RunConfig, run_sequence
from mmseg_rbc.engine.resuming import (
    check_resumed,
    differences,
    find_checkpoint,
)
from mmseg_rbc.runs import StepDir
from mmseg_rbc.utils.checkpoint import load_checkpoint


@pytest.fixture
def resume(tiny_run, tiny_root):
    """Return the check of PLOP's step 1 against another config."""
    path = str(tiny_run / 'step_1/epoch_2.pth')

    def check(method: str = 'plop', **options) -> list[dict]:
        cfg, merged = make_tiny_config(tiny_root, method, **options)
        cfg.randomness = dict(dict(seed=0), **(cfg.get('randomness') or {}))
        step = RunConfig(cfg, merged).steps('elsewhere')[1]
        return check_resumed(load_checkpoint(path), path, step)

    return check


@pytest.mark.parametrize(
    'options, sentence',
    [
        (dict(method='mib'), r'model\.method\.'),
        (dict(method='ewc'), 'custom_hooks.ImportanceHook.regularizer'),
        (
            {'continual.setting': 'disjoint'},
            "dataset.setting was 'overlapped'",
        ),
        ({'continual.order': 'b'}, "dataset.order was None, now 'b'"),
        ({'continual.task': '15-1'}, "dataset.task was '15-5', now '15-1'"),
        ({'randomness.seed': 3}, 'randomness.seed was 0, now 3'),
        ({'crop_size': 48}, r'size was \[32, 32\], now \[48, 48\]'),
        ({'model.backbone.depth': 34}, 'model.backbone.depth was 18, now 34'),
        (
            {'method.losses.pod.weight': 0.5, 'recipe.relative_pod': None},
            'model.method.losses.pod.weight was 0.15, now 0.5',
        ),
    ],
    ids=str,
)
def test_what_may_not_change(resume, options, sentence):
    with pytest.raises(ValueError, match=sentence) as info:
        resume(**options)
    text = str(info.value)
    assert 'epoch_2.pth was trained with other settings: ' in text
    assert text.endswith('another --work-dir, or run without --resume')


def test_the_same_settings_elsewhere(resume):
    assert resume() == []
    assert resume(**{'train_dataloader.num_workers': 1}) == []


def test_what_may_change_is_said_and_returned(resume, capsys):
    MMLogger.get_instance('resuming', log_level='INFO')
    later = dict(lr=0.2, epochs=4, batch_size=8)
    changes = {c['key']: c for c in resume(**{'schedule.later': later})}
    assert changes['train_cfg.max_epochs'] == dict(
        key='train_cfg.max_epochs', begun=2, ended=4
    )
    lr = changes['optim_wrapper.optimizer.lr']
    assert (lr['begun'], lr['ended'], lr['asked']) == (0.01, 0.01, 0.2)
    text = ''.join(capsys.readouterr())
    assert (
        'goes on with other settings: train_cfg.max_epochs was 2, now 4'
        in (text)
    )
    assert (
        'no effect, .*' not in text and 'these settings have no effe' in text
    )


def test_checkpoint_without_settings(resume, tiny_run):
    with pytest.raises(ValueError, match='x.pth does not say what it was tra'):
        check_resumed(dict(meta={}), 'x.pth', None)
    with pytest.raises(ValueError, match='does not say .* without --resume'):
        check_resumed(dict(meta=dict(cfg='f()')), 'x.pth', None)


@pytest.mark.parametrize('key', ['optimizer', 'param_schedulers'])
def test_checkpoint_without_optimizer(tiny_run, tiny_config, key):
    """With save_optimizer=False; the step would end with other weights."""
    path = str(tiny_run / 'step_1/epoch_1.pth')
    content = load_checkpoint(path)
    del content[key]
    cfg, options = tiny_config('plop')
    step = RunConfig(cfg, options).steps('elsewhere')[1]
    with pytest.raises(ValueError, match=f'epoch_1.pth holds no {key}, so'):
        check_resumed(content, path, step)


def test_last_checkpoint_that_names_nothing(tmp_path, capsys):
    MMLogger.get_instance('resuming', log_level='INFO')
    folder = StepDir(str(tmp_path))
    assert find_checkpoint(folder, Config()) == (None, [])
    assert 'begins again' not in ''.join(capsys.readouterr())
    (tmp_path / 'last_checkpoint').write_text('/elsewhere/epoch_3.pth')
    assert find_checkpoint(folder, Config()) == (None, [])
    assert 'names one: the step begins again' in ''.join(capsys.readouterr())


def test_more_epochs_are_recorded(tiny_run, tiny_root, tmp_path):
    """Also if the step is resumed once more."""
    shutil.copytree(tiny_run, tmp_path, dirs_exist_ok=True)
    for epochs in (3, 4):
        (tmp_path / 'step_1/finished.json').unlink()
        options = {'schedule.later.epochs': epochs}
        cfg, merged = make_tiny_config(tiny_root, 'plop', **options)
        run_sequence(cfg, str(tmp_path), resume=True, options=merged)
    done = json.loads((tmp_path / 'step_1/finished.json').read_text())
    changes = {c['key']: c for c in done['resumed_with']}
    entry = changes['train_cfg.max_epochs']
    assert (entry['begun'], entry['ended']) == (2, 4)
    assert done['resumed'] and (tmp_path / 'step_1/epoch_4.pth').is_file()


def test_differences_name_places():
    hooks = [dict(type='A', n=1), dict(type='A', n=2), dict(type='B')]
    old = dict(custom_hooks=hooks, model=dict(size=(1, 2)), other=1)
    new = dict(
        custom_hooks=[dict(type='C'), hooks[0], dict(type='A', n=3), hooks[2]],
        model=dict(size=[1, 2]),
        other=2,
    )
    assert differences(old, new) == {
        'custom_hooks.A_1.n': (2, 3),
        'custom_hooks.C.type': (None, 'C'),
    }


@pytest.mark.parametrize(
    'damage',
    ['empty', 'half', 'unnamed', 'both', 'zeros', 'start', 'magic', 'bit'],
)
def test_a_damaged_checkpoint_falls_back(
    tiny_run, tiny_root, tmp_path, damage
):
    """As a run that is killed while it writes, or a disk, leaves it."""
    for name in ('step_0', 'step_1'):
        shutil.copytree(tiny_run / name, tmp_path / name)
    step = tmp_path / 'step_1'
    final = weights(step / 'final.pth')
    for name in ('finished.json', 'final.pth'):
        (step / name).unlink()
    (step / 'metrics.json.77.part').touch()
    newest = step / 'epoch_2.pth'
    whole = newest.read_bytes()
    left = dict(empty=0, zeros=0, start=3000, magic=2)
    newest.write_bytes(whole[: left.get(damage, len(whole) // 2)])
    if damage == 'zeros':
        newest.write_bytes(bytes(len(whole)))
    if damage == 'bit':
        # In the middle there are weights.
        middle = len(whole) // 2
        bit = bytes([whole[middle] ^ 1])
        newest.write_bytes(whole[:middle] + bit + whole[middle + 1 :])
    if damage == 'unnamed':
        (step / 'last_checkpoint').write_text('')
    if damage == 'both':
        (step / 'epoch_1.pth').write_bytes(whole[:1000])
    cfg, options = make_tiny_config(tiny_root, 'plop')
    run_sequence(cfg, str(tmp_path), resume=True, options=options)
    assert_equal_weights(weights(step / 'final.pth'), final)
    finished = json.loads((step / 'finished.json').read_text())
    assert finished['resumed'] == (damage != 'both')
    assert not list(step.glob('*.part'))
