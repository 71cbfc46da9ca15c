import json

import pytest

from mmseg_rbc.tasks import Task
from mmseg_rbc.utils.errors import is_ours, plain_errors


def test_sentence_of_ours():
    with pytest.raises(SystemExit, match='^error: task .x. is neither'):
        with plain_errors():
            Task.parse('x', 21)


def test_errors_from_elsewhere_keep_their_traceback():
    with pytest.raises(json.JSONDecodeError) as info:
        with plain_errors():
            json.loads('{')
    assert not is_ours(info.value) and not is_ours(ValueError())
    # A bare one of ours is a mistake, and not for the user.
    with pytest.raises(TypeError):
        with plain_errors():
            Task.parse()


def test_all_tracebacks_on_request(monkeypatch):
    monkeypatch.setenv('MMSEG_RBC_TRACEBACK', '1')
    with pytest.raises(ValueError, match='is neither') as info:
        with plain_errors():
            Task.parse('x', 21)
    assert is_ours(info.value)
