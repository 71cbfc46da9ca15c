import subprocess
import sys

import pytest
import torch
from helpers import tool_environment
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
