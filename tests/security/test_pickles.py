"""Checkpoints whose pickle is a program, in every tool that loads one."""

import json
import shutil
from pathlib import Path

import payloads
import torch
from helpers import CONFIGS, run_tool

from mmseg_rbc.utils.safe_loading import TRUST

CONFIG = CONFIGS / 'plop/plop_fcn-tiny_shapes-15-1-overlapped.py'
EWC = CONFIGS / 'ewc/ewc_fcn-tiny_shapes-15-1-overlapped.py'


def refusal(path: Path) -> str:
    return f'{path} is refused, because it asks for posix.system'


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


def test_files_that_mmengine_deletes(
    run_here, work_dir, mark, options, monkeypatch
):
    """A checkpoint says which older ones are to go, as part of a path."""
    path = unfinish(work_dir)
    (work_dir / 'step_1/epoch_').mkdir()
    victim = work_dir.with_name('victim.pth')
    victim.write_text('of the user')
    content = torch.load(path, weights_only=True)
    info = content['message_hub']['runtime_info']
    info['keep_ckpt_ids'] = ['/../../../victim', 0, 1]
    torch.save(content, path)
    twin = shutil.copytree(work_dir, work_dir.with_name('twin'))
    args = [CONFIG, *options, '--resume', '--work-dir']
    assert f'results: {work_dir}' in run_here('train.py', *args, work_dir)
    assert victim.exists()
    monkeypatch.setenv(TRUST, '1')
    run_here('train.py', *args, twin)
    assert not victim.exists()


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
