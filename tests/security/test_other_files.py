"""Everything else that a work dir or a data set holds."""

import pickle
import shutil

import numpy as np
import payloads
import pytest
import torch
from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.datasets.memory import read_memory

CONFIG = CONFIGS / 'plop/plop_fcn-tiny_shapes-15-1-overlapped.py'


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


def test_memory(mark, tmp_path):
    """What a step keeps for the next one, which may come with step 0."""
    path = tmp_path / 'memory.json'
    path.write_bytes(pickle.dumps([payloads.system(mark)]))
    with pytest.raises(ValueError, match='memory.json is no list of images'):
        read_memory(str(path))
    assert not mark.exists()
    pickle.loads(path.read_bytes())
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
