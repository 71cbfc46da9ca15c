import os
import re

import pytest
import torch

from mmseg_rbc.utils.checkpoint import (
    check_origin,
    load_checkpoint,
    network_only,
    origin,
    save_checkpoint,
    state_of,
)
from mmseg_rbc.utils.safe_loading import UnreadableCheckpointError

CONTENT = dict(
    meta=dict(
        seed=3,
        dataset_meta=dict(step=1, task='15-1', classes=('bg', 'cat', 'dog')),
    ),
    state_dict=dict(weight=torch.arange(3.0)),
    optimizer=dict(lr=0.1),
)


def test_what_is_saved_is_loaded(tmp_path):
    path = str(tmp_path / 'a' / 'final.pth')
    save_checkpoint(CONTENT, path)
    loaded = load_checkpoint(path)
    assert loaded['state_dict']['weight'].tolist() == [0, 1, 2]
    assert loaded['meta'] == CONTENT['meta']
    assert os.listdir(tmp_path / 'a') == ['final.pth']


def test_missing_checkpoint_is_named(tmp_path):
    path = str(tmp_path / 'no.pth')
    with pytest.raises(FileNotFoundError, match=r'^checkpoint .*no\.pth does'):
        load_checkpoint(path)
    with pytest.raises(
        FileNotFoundError, match=r'^the teacher .*no\.pth .*: train it first$'
    ):
        load_checkpoint(path, 'the teacher', 'train it first')


def test_network_without_its_training():
    assert network_only(CONTENT).keys() == {'meta', 'state_dict'}


def test_origin_joins_meta_and_metainfo():
    found = origin(CONTENT)
    assert (found['seed'], found['step'], found['task']) == (3, 1, '15-1')
    assert origin({}) == {} and origin(dict(meta=dict(a=1))) == dict(a=1)


@pytest.mark.parametrize(
    'expected, sentence',
    [
        (
            dict(task='10-1'),
            "x.pth was trained with task '15-1', .* task '10-1': use",
        ),
        (dict(step=0), 'trained with step 1, but this step follows step 0'),
        (
            dict(classes=['bg', 'dog', 'cat']),
            r'classes \(3 entries: bg, cat, dog\), .* \(3 entries: bg, dog, c',
        ),
    ],
)
def test_checkpoint_of_another_step(expected, sentence):
    good = dict(step=1, task='15-1', classes=['bg', 'cat', 'dog'], more=5)
    check_origin(CONTENT, 'x.pth', good)
    check_origin({}, 'x.pth', good)
    with pytest.raises(ValueError, match=sentence):
        check_origin(CONTENT, 'x.pth', {**good, **expected})


@pytest.mark.parametrize(
    'left, reason',
    [
        (0, 'it ends too early'),
        (2, 'Unsupported operand 80'),
        (3000, 'Invalid argument|central directory'),
        (-100, 'Invalid argument|central directory'),
    ],
)
def test_damage_is_said_in_one_sentence(tmp_path, left, reason):
    path = tmp_path / 'a.pth'
    torch.save(dict(state_dict=dict(w=torch.zeros(99, 99))), path)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(UnreadableCheckpointError, match=reason) as info:
        load_checkpoint(str(path))
    assert re.search(reason, info.value.reason)
    text = str(info.value)
    assert text.startswith(f'{path} is ') and '\n' not in text


def test_a_changed_byte_is_found_or_does_not_matter(tmp_path):
    """Torch alone loads other weights, without a word."""
    path, expected = tmp_path / 'a.pth', torch.rand(30, 30)
    torch.save(dict(state_dict=dict(w=expected)), path)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 23):
        changed = bytearray(whole)
        changed[place] ^= 16
        path.write_bytes(changed)
        try:
            found = load_checkpoint(str(path))['state_dict']['w']
        except UnreadableCheckpointError as error:
            assert str(error).startswith(f'{path} is ')
            refused += 1
        else:
            assert torch.equal(found, expected)
    assert refused > 3600 / 23, 'all changes of weights'


@pytest.mark.parametrize(
    'content, reason',
    [
        ([1, 2], 'it holds a list'),
        (None, 'it holds a NoneType'),
        (dict(meta=[1]), 'its meta is a list'),
        (dict(meta={}, state_dict=3), 'its state_dict is a int'),
    ],
)
def test_content_of_another_kind(tmp_path, content, reason):
    path = tmp_path / 'a.pth'
    torch.save(content, path)
    with pytest.raises(ValueError, match=rf'a.pth is damaged.*\({reason}\)'):
        load_checkpoint(str(path))


def test_a_file_that_may_not_be_read_is_not_damaged(tmp_path, monkeypatch):
    """Its error goes to the sentences of faults, which need its path."""
    path = tmp_path / 'a.pth'
    save_checkpoint(CONTENT, str(path))
    monkeypatch.setattr('os.path.isfile', lambda path: True)
    with pytest.raises(OSError) as info:
        load_checkpoint(str(tmp_path / 'gone' / 'a.pth'))
    assert info.value.filename == str(tmp_path / 'gone' / 'a.pth')


def test_weights_are_needed():
    assert state_of(CONTENT, 'a.pth') is CONTENT['state_dict']
    with pytest.raises(ValueError, match=r'a.pth is .*\(it has no state_dict'):
        state_of(dict(meta={}), 'a.pth')
