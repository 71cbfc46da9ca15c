"""Every payload here runs with a plain load, and with the switch."""

import os
import pickle
import re
import subprocess
import threading
import zipfile
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import numpy as np
import payloads
import pytest
import torch
from mmengine.config import Config
from mmengine.logging import HistoryBuffer
from mmengine.runner import CheckpointLoader

from mmseg_rbc.utils.safe_loading import TRUST, load_from_local


@pytest.fixture
def mark(tmp_path) -> Path:
    return tmp_path / 'mark'


def shell(mark):
    return payloads.Call(os.system, payloads.touch(mark))


def python(mark):
    return payloads.Call(exec, payloads.code(mark))


def expression(mark):
    return payloads.Call(eval, payloads.code(mark))


def process(mark):
    return payloads.Call(subprocess.check_call, ['touch', str(mark)])


def method(mark):
    return payloads.Call(Path.touch, mark)


ways = pytest.mark.parametrize(
    'way, name',
    [
        (shell, 'posix.system'),
        (python, 'exec'),
        (expression, 'eval'),
        (process, r'\w+\.check_call'),
        (method, r'pathlib\S+'),
    ],
)


def save_zip(content, path):
    torch.save(content, path)


def save_legacy(content, path):
    torch.save(content, path, _use_new_zipfile_serialization=False)


def save_pickle(content, path):
    path.write_bytes(pickle.dumps(content, protocol=2))


@pytest.mark.parametrize('save', [save_zip, save_legacy, save_pickle])
@ways
def test_payload_is_refused_and_named(tmp_path, mark, way, name, save):
    path = tmp_path / 'evil.pth'
    save(dict(state_dict={}, extra=way(mark)), path)
    with pytest.raises(ValueError, match=f'evil.pth is refused.*{name} wh'):
        load_from_local(str(path))
    with pytest.raises(ValueError, match=f'evil.pth is refused.*{name} wh'):
        CheckpointLoader.load_checkpoint(str(path), 'cpu')
    assert not mark.exists()
    if save is save_pickle:
        pickle.loads(path.read_bytes())
    else:
        torch.load(path, weights_only=False)
    assert mark.exists(), 'the payload can run'


def test_deliberate_switch(tmp_path, mark, monkeypatch):
    path = tmp_path / 'old.pth'
    torch.save(dict(a=1, extra=shell(mark)), path)
    monkeypatch.setenv(TRUST, '0')
    with pytest.raises(ValueError, match=f'set {TRUST}=1$'):
        load_from_local(str(path))
    assert not mark.exists()
    monkeypatch.setenv(TRUST, '1')
    assert load_from_local(str(path))['a'] == 1 and mark.exists()


def test_variables_of_torch_change_nothing(tmp_path, mark, monkeypatch):
    """One of them is a known workaround for MMEngine on a new torch."""
    path = tmp_path / 'evil.pth'
    torch.save(dict(extra=shell(mark)), path)
    monkeypatch.setenv('TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', '1')
    with pytest.raises(ValueError, match=r'asks for posix\.system'):
        load_from_local(str(path))
    assert not mark.exists()
    assert os.environ['TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'] == '1'
    assert 'TORCH_FORCE_WEIGHTS_ONLY_LOAD' not in os.environ
    torch.load(path)
    assert mark.exists()


def test_files_from_the_web(tmp_path, mark, monkeypatch):
    """MMEngine never asks for a safe load of them."""
    monkeypatch.setenv('TORCH_HOME', str(tmp_path / 'cache'))
    torch.save(dict(extra=shell(mark)), tmp_path / 'evil.pth')
    torch.save(dict(weight=torch.ones(2)), tmp_path / 'good.pth')
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with HTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f'http://127.0.0.1:{server.server_port}'
        good = CheckpointLoader.load_checkpoint(f'{url}/good.pth', 'cpu')
        assert good['weight'].tolist() == [1, 1]
        with pytest.raises(ValueError, match=r'/evil.pth is refused.*system'):
            CheckpointLoader.load_checkpoint(f'{url}/evil.pth', 'cpu')
        assert not mark.exists()
        monkeypatch.setenv(TRUST, '1')
        CheckpointLoader.load_checkpoint(f'{url}/evil.pth', 'cpu')
        server.shutdown()
    assert mark.exists()


def test_files_of_the_model_zoo(tmp_path, mark, monkeypatch):
    """Named by an alias, as pretrained backbones are."""
    monkeypatch.setenv('MMENGINE_HOME', str(tmp_path))
    (tmp_path / 'open_mmlab.json').write_text('{"evil": "evil.pth"}')
    torch.save(dict(extra=shell(mark)), tmp_path / 'evil.pth')
    with pytest.raises(ValueError, match=r'open-mmlab://evil is refused'):
        CheckpointLoader.load_checkpoint('open-mmlab://evil', 'cpu')
    assert not mark.exists()


def test_config_that_resuming_would_execute(tmp_path, mark):
    """Runner.resume runs meta.config, if there is one, as Python."""
    path = tmp_path / 'a.pth'
    meta = dict(config=payloads.code(mark), cfg='a = 1', epoch=3)
    torch.save(dict(meta=meta), path)
    assert load_from_local(str(path))['meta'] == dict(cfg='a = 1', epoch=3)
    Config.fromstring(meta['config'], '.py')
    assert mark.exists()


def test_files_that_resuming_would_delete(tmp_path):
    """CheckpointHook deletes them when it has newer or better ones."""
    path = tmp_path / 'epoch_1.pth'
    info = dict(
        keep_ckpt_ids=['/../../a', 1, 2],
        best_ckpt='/home/user/best_mIoU.pth',
        best_ckpt_acc='..',
        best_score=0.5,
    )
    torch.save(dict(message_hub=dict(runtime_info=info)), path)
    hub = load_from_local(str(path))['message_hub']
    assert hub['runtime_info'] == dict(
        keep_ckpt_ids=[1, 2],
        best_ckpt=str(tmp_path / 'best_mIoU.pth'),
        best_score=0.5,
    )


def test_what_is_no_checkpoint(tmp_path):
    path = tmp_path / 'a.pth'
    path.write_bytes(b'no checkpoint')
    with pytest.raises(ValueError, match='a.pth is no checkpoint that can be'):
        load_from_local(str(path))
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), path)
    with pytest.raises(
        ValueError, match=r'loaded safely \(Cannot use .*Torch'
    ):
        load_from_local(str(path))
    with pytest.raises(FileNotFoundError, match='none.pth can not be found'):
        load_from_local('none.pth')
    torch.save([1, 2], path)
    assert load_from_local(str(path)) == [1, 2]


def test_what_mmengine_saves_is_loaded(tmp_path):
    history = HistoryBuffer([1.0, 2.0], [1, 1], 10)
    content = dict(
        history=history,
        scalar=np.float64(0.5),
        array=np.arange(3, dtype=np.int64),
        weight=torch.ones(2),
    )
    torch.save(content, tmp_path / 'a.pth')
    for loaded in (
        load_from_local(str(tmp_path / 'a.pth')),
        torch.load(tmp_path / 'a.pth', weights_only=True),
    ):
        assert loaded['history'].mean() == history.mean() == 1.5
        assert loaded['scalar'] == 0.5
        assert loaded['array'].tolist() == [0, 1, 2]


@pytest.mark.parametrize('package', ['numpy.core', 'numpy._core'])
def test_files_of_both_generations_of_numpy(tmp_path, package):
    """Each names the functions of arrays after its own folder."""
    torch.save(dict(a=np.arange(3)), tmp_path / 'a.pth')
    with zipfile.ZipFile(tmp_path / 'a.pth') as source:
        parts = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(tmp_path / 'b.pth', 'w') as target:
        for name, part in parts.items():
            new = re.sub(rb'numpy\._?core', package.encode(), part)
            assert (b'core' in part) == name.endswith('data.pkl')
            target.writestr(name, new)
    loaded = load_from_local(str(tmp_path / 'b.pth'))
    assert loaded['a'].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    'call, name',
    [
        ((getattr, np.ndarray, 'tofile'), 'builtins.getattr of .tofile'),
        ((getattr, HistoryBuffer, '__init__'), 'builtins.getattr of .__init'),
    ],
)
def test_getattr_reaches_the_history_only(tmp_path, call, name):
    path = tmp_path / 'evil.pth'
    torch.save(dict(x=payloads.Call(*call)), path)
    with pytest.raises(ValueError, match='asks for builtins.getattr'):
        load_from_local(str(path))
    with pytest.raises(pickle.UnpicklingError, match=name):
        torch.load(path, weights_only=True)
