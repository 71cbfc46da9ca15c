import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from helpers import tool_environment
from mmengine.logging import HistoryBuffer
from mmengine.utils.dl_utils import mmcv_full_available

import mmseg_rbc
from mmseg_rbc.utils import stack


def test_missing_operators_say_so_when_called():
    if mmcv_full_available():
        pytest.skip('this mmcv is compiled')
    from mmcv.ops import nms

    with pytest.raises(RuntimeError, match="operator 'nms' of mmcv was calle"):
        nms(torch.zeros(1, 4), torch.zeros(1), 0.5)


def test_all_of_mmseg_imports_without_a_word():
    """In a fresh process, as from a config's custom_imports."""
    code = (
        'import mmseg_rbc, mmseg.models, mmseg.apis\n'
        'from mmseg.registry import MODELS\n'
        'assert MODELS.get("CCHead") and MODELS.get("EncoderDecoder")\n'
    )
    done = subprocess.run(
        [sys.executable, '-c', code],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=tool_environment(),
    )
    assert done.stdout == ''


def test_checkpoint_types_load_safely(tmp_path):
    history = HistoryBuffer([1.0, 2.0], [1, 1], 10)
    content = dict(
        history=history,
        scalar=np.float64(0.5),
        array=np.arange(3, dtype=np.int64),
        weight=torch.ones(2),
    )
    torch.save(content, tmp_path / 'a.pth')
    loaded = torch.load(tmp_path / 'a.pth', weights_only=True)
    assert loaded['history'].mean() == history.mean() == 1.5
    assert loaded['scalar'] == 0.5
    assert loaded['array'].tolist() == [0, 1, 2]


class Call:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    'call',
    [
        (print, ('code ran while a checkpoint was loaded',)),
        (getattr, (np.ndarray, 'tofile')),
    ],
)
def test_other_types_stay_refused(tmp_path, call):
    torch.save(dict(x=Call(*call)), tmp_path / 'evil.pth')
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / 'evil.pth', weights_only=True)


def test_missing_and_old_packages_are_named(monkeypatch):
    monkeypatch.setitem(stack.MINIMUM_VERSIONS, 'mmseg', '99.0')
    with pytest.raises(ImportError, match='mmseg >= 99.0, found .*onedl'):
        stack.check_stack()
    monkeypatch.setitem(stack.MINIMUM_VERSIONS, 'mm_nowhere', '1.0')
    monkeypatch.delitem(stack.MINIMUM_VERSIONS, 'mmseg')
    with pytest.raises(ImportError, match='mm_nowhere .* is not installed'):
        stack.check_stack()


def test_version_is_in_one_place():
    from importlib.metadata import version

    assert version('mmseg_rbc') == mmseg_rbc.__version__
