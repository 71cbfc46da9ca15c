"""No tool runs what a stranger's file says; docs/security.md lists them.

Each payload would leave a mark. That it can is shown by the same tool on the
same file, once the user trusts checkpoints, or by a careless reader.
"""

import json
import pickle
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import payloads
import pytest
import torch
from helpers import CONFIGS, REPO, run_tool
from mmengine.config import Config

from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.utils.safe_loading import TRUST

CONFIG = CONFIGS / 'plop/plop_fcn-tiny_shapes-15-1-overlapped.py'
EWC = CONFIGS / 'ewc/ewc_fcn-tiny_shapes-15-1-overlapped.py'


@pytest.fixture
def mark(tmp_path) -> Path:
    return tmp_path / 'mark'


@pytest.fixture
def work_dir(tiny_run, tmp_path) -> Path:
    """A finished run that came from elsewhere."""
    return Path(shutil.copytree(tiny_run, tmp_path / 'plop'))


@pytest.fixture
def options(tiny_root) -> list[str]:
    """What the run was trained with, see make_tiny_config."""
    return [
        '--cfg-options',
        'continual.task=15-5',
        f'continual.data_root={tiny_root}',
        'crop_size=(32,32)',
        'default_hooks.checkpoint.interval=1',
        *(
            f'schedule.{part}.{key}={value}'
            for part in ('base', 'later')
            for key, value in dict(lr=0.01, epochs=2, batch_size=8).items()
        ),
    ]


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Run a tool in this process, which has imported everything already."""

    def run(tool: str, *args: object) -> str:
        monkeypatch.setattr(sys, 'argv', [tool, *map(str, args)])
        ended = ''
        try:
            runpy.run_path(str(REPO / 'tools' / tool), run_name='__main__')
        except (Exception, SystemExit) as error:
            ended = str(error)
        return ''.join(capsys.readouterr()) + ended

    return run


@pytest.fixture
def attack(run_here, mark, monkeypatch):
    """Run a tool on a poisoned file, then once more with trust."""

    def run(sentence: str, tool: str, *args: object) -> None:
        printed = run_here(tool, *args)
        assert sentence in printed, printed[-3000:]
        assert not mark.exists(), f'{tool} ran the payload'
        monkeypatch.setenv(TRUST, '1')
        run_here(tool, *args)
        assert mark.exists(), 'the payload cannot run at all'

    return run


@pytest.fixture
def image(tiny_root) -> Path:
    return sorted((Path(tiny_root) / 'JPEGImages').iterdir())[0]


def refusal(path: Path) -> str:
    return f'{path} is refused, because it asks for posix.system'


# Pickles.


def test_predict(attack, work_dir, mark, image, tmp_path):
    path = payloads.poison(work_dir / 'step_1/final.pth', mark)
    out = tmp_path / 'out'
    attack(refusal(path), 'predict.py', path, image, '--out', out)


def test_test(attack, work_dir, mark, options):
    path = payloads.poison(work_dir / 'step_1/final.pth', mark)
    attack(refusal(path), 'test.py', CONFIG, path, *options)


def test_context_bias(attack, work_dir, mark):
    path = payloads.poison(work_dir / 'step_1/final.pth', mark)
    attack(refusal(path), 'analysis_tools/context_bias.py', path)


def test_report(attack, work_dir, mark):
    path = payloads.poison(work_dir / 'step_0/final.pth', mark)
    tool = 'analysis_tools/report.py'
    attack(refusal(path), tool, work_dir, '--images', 1)


def test_train_init_from(attack, work_dir, mark, options, tmp_path):
    path = payloads.poison(work_dir / 'step_0/final.pth', mark)
    args = ['--init-from', work_dir, '--work-dir', tmp_path / 'new']
    attack(refusal(path), 'train.py', CONFIG, *args, *options)


def test_importance_is_not_adopted(attack, work_dir, mark, options, tmp_path):
    path = work_dir / 'step_0/importance.pth'
    torch.save(dict(regularizer='EWC', extra=payloads.system(mark)), path)
    new = tmp_path / 'new'
    args = ['--init-from', work_dir, '--work-dir', new]
    attack(refusal(path), 'train.py', EWC, *args, *options)


def test_importance_of_the_step_before(
    attack, work_dir, mark, options, tmp_path
):
    """In a work dir whose step 1 is to be trained."""
    shutil.rmtree(work_dir / 'step_1')
    path = work_dir / 'step_0/importance.pth'
    torch.save(dict(regularizer='EWC', extra=payloads.system(mark)), path)
    args = ['--work-dir', work_dir]
    attack(refusal(path), 'train.py', EWC, *args, *options)


def unfinish(work_dir: Path) -> Path:
    """Leave a step that was stopped after its first epoch."""
    folder = work_dir / 'step_1'
    (folder / 'finished.json').unlink()
    (folder / 'last_checkpoint').write_text('/elsewhere/epoch_1.pth')
    return folder / 'epoch_1.pth'


def test_train_resume(attack, work_dir, mark, options):
    path = payloads.poison(unfinish(work_dir), mark)
    args = ['--resume', '--work-dir', work_dir]
    attack(refusal(path), 'train.py', CONFIG, *args, *options)


def test_train_starts_from_the_step_before(attack, work_dir, mark, options):
    shutil.rmtree(work_dir / 'step_1')
    path = payloads.poison(work_dir / 'step_0/final.pth', mark)
    args = ['--work-dir', work_dir]
    attack(refusal(path), 'train.py', CONFIG, *args, *options)


def test_code_that_mmengine_resumes_with(
    run_here, work_dir, mark, options, monkeypatch
):
    """Of a checkpoint that is safe to unpickle: the step just goes on."""
    path = unfinish(work_dir)
    content = torch.load(path, weights_only=True)
    content['meta']['config'] = payloads.code(mark)
    torch.save(content, path)
    twin = shutil.copytree(work_dir, work_dir.with_name('twin'))
    args = [CONFIG, *options, '--resume', '--work-dir']
    assert f'results: {work_dir}' in run_here('train.py', *args, work_dir)
    done = json.loads((work_dir / 'step_1/finished.json').read_text())
    assert done['resumed'] and not mark.exists()
    monkeypatch.setenv(TRUST, '1')
    run_here('train.py', *args, twin)
    assert mark.exists()


def test_run_benchmark(work_dir, mark, options, tmp_path):
    """A real process that starts another one, as it does."""
    folder = tmp_path / 'benchmark' / CONFIG.stem / 'seed_0'
    shutil.copytree(work_dir, folder)
    path = payloads.poison(unfinish(folder), mark)
    args = [CONFIG, '--work-dir', tmp_path / 'benchmark', *options]
    run_tool('run_benchmark.py', *args, expected=1)
    assert refusal(path) in (folder / 'benchmark.log').read_text()
    assert not mark.exists()
    torch.load(path, weights_only=False)
    assert mark.exists()


# Configs in checkpoints, which are safe to unpickle.


def set_neck(path: Path, mark: Path) -> str:
    def change(cfg: Config) -> None:
        cfg.model.neck = payloads.system_config(mark)

    payloads.edit_config(path, change)
    return f"{path}: model.neck.type='os.system' is refused"


def test_config_in_predict(attack, work_dir, mark, image, tmp_path):
    path = work_dir / 'step_1/final.pth'
    sentence = set_neck(path, mark)
    attack(sentence, 'predict.py', path, image, '--out', tmp_path / 'out')


def test_config_in_context_bias(attack, work_dir, mark):
    path = work_dir / 'step_1/final.pth'
    sentence = set_neck(path, mark)
    attack(sentence, 'analysis_tools/context_bias.py', path)


def test_config_in_report(attack, work_dir, mark):
    sentence = set_neck(work_dir / 'step_1/final.pth', mark)
    attack(sentence, 'analysis_tools/report.py', work_dir, '--images', 1)


def test_pipeline_in_context_bias(attack, work_dir, mark):
    path = work_dir / 'step_1/final.pth'

    def change(cfg: Config) -> None:
        dataset = next(base_datasets(cfg.val_dataloader.dataset))
        dataset.pipeline.append(payloads.system_config(mark))

    payloads.edit_config(path, change)
    sentence = "dataset.pipeline[3].type='os.system' is refused"
    attack(sentence, 'analysis_tools/context_bias.py', path)


# Everything else that a work dir or a data set holds.


def test_config_file_of_a_step(run_here, work_dir, mark, image, tmp_path):
    """It is read by the report, and for a checkpoint without a config."""
    for step in (0, 1):
        folder = work_dir / f'step_{step}'
        content = torch.load(folder / 'final.pth', weights_only=True)
        del content['meta']['cfg']
        torch.save(content, folder / 'final.pth')
        (folder / 'config.py').write_text(f'model = {payloads.code(mark)}')
    out = tmp_path / 'out'
    path = work_dir / 'step_1/final.pth'
    printed = run_here('predict.py', path, image, '--out', out)
    assert f'the config in {path} cannot be read (line 1 of th' in printed
    tool = 'analysis_tools/report.py'
    printed = run_here(tool, work_dir, '--images', 1)
    assert 'no predictions: ValueError: the config in' in printed
    assert 'report: ' in printed
    assert not mark.exists()
    Config.fromfile(work_dir / 'step_1/config.py')
    assert mark.exists()


@pytest.mark.parametrize('tool', ['report.py', 'print_summary.py'])
def test_results(run_here, work_dir, mark, tool):
    text = pickle.dumps([payloads.system(mark)])
    files = [*work_dir.glob('**/*.json')]
    assert len(files) > 6
    for path in files:
        path.write_bytes(text)
    (work_dir / 'step_1/context_bias.json').write_bytes(text)
    run_here(f'analysis_tools/{tool}', work_dir)
    assert not mark.exists()
    pickle.loads(text)
    assert mark.exists()


def test_published_split(run_here, mark, options, tmp_path):
    positions = np.array([payloads.system(mark)], object)
    np.save(tmp_path / 'train-1.npy', positions, allow_pickle=True)
    args = [CONFIG, *options, f'continual.split_dir={tmp_path}']
    printed = run_here('analysis_tools/browse_duplets.py', *args)
    assert 'train-1.npy is no numpy array of integers' in printed
    assert not mark.exists()
    np.load(tmp_path / 'train-1.npy', allow_pickle=True)
    assert mark.exists()


def test_class_index(run_here, mark, options, tiny_root, tmp_path):
    """It lies beside the masks, so it may come with them."""
    root = tmp_path / 'data'
    ignored = shutil.ignore_patterns('.mmseg_rbc')
    shutil.copytree(tiny_root, root, ignore=ignored)
    out = tmp_path / 'duplets.png'
    args = [CONFIG, *options, f'continual.data_root={root}']
    tool = 'analysis_tools/browse_duplets.py'
    run_here(tool, *args, '--out', out)
    caches = [*root.glob('**/.mmseg_rbc/*.npz')]
    assert len(caches) > 0
    evil = np.array([payloads.system(mark)], object)
    for path in caches:
        np.savez(path, key=evil, bits=evil)
    assert f'wrote {out}' in run_here(tool, *args, '--out', out)
    assert not mark.exists()
    for path in caches:
        with np.load(path) as data:
            assert data['bits'].dtype == np.uint8, 'made again'
    np.savez(caches[0], key=evil)
    with np.load(caches[0], allow_pickle=True) as data:
        print(data['key'])
    assert mark.exists()
