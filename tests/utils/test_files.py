"""Files that are whole or absent, and lists of missing ones."""

import json
import os

import pytest

from mmseg_rbc.utils.files import (
    check_files,
    missing_files,
    remove_parts,
    replacing,
    write_json,
    write_text,
)


def test_new_content_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / 'new folder' / 'a.txt'
    for text in ('first', 'second'):
        with replacing(str(path)) as part:
            assert part != str(path)
            with open(part, 'w') as file:
                file.write(text)
            assert not path.exists() or path.read_text() == 'first'
        assert path.read_text() == text
    assert os.listdir(path.parent) == ['a.txt']


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt])
def test_error_keeps_the_old_content_and_leaves_nothing(tmp_path, error):
    path = tmp_path / 'a.txt'
    path.write_text('old')
    with pytest.raises(error):
        with replacing(str(path)) as part:
            with open(part, 'w') as file:
                file.write('half of the new')
            raise error
    assert path.read_text() == 'old'
    assert os.listdir(tmp_path) == ['a.txt']


def test_error_before_anything_was_written(tmp_path):
    with pytest.raises(ValueError, match='mine'):
        with replacing(str(tmp_path / 'a.txt')):
            raise ValueError('mine')
    assert os.listdir(tmp_path) == []


def test_json_and_text(tmp_path):
    content = dict(a=[1, 2.5, None], b='ä')
    write_json(str(tmp_path / 'a.json'), content)
    assert json.loads((tmp_path / 'a.json').read_text()) == content
    with pytest.raises(TypeError):
        write_json(str(tmp_path / 'a.json'), dict(content, c=object()))
    assert json.loads((tmp_path / 'a.json').read_text()) == content
    write_text(str(tmp_path / 'b.txt'), 'one\ntwo\n')
    assert (tmp_path / 'b.txt').read_text() == 'one\ntwo\n'
    assert sorted(os.listdir(tmp_path)) == ['a.json', 'b.txt']


def test_missing_files_are_counted(tmp_path):
    (tmp_path / 'a.png').touch()
    names = ['a.png', 'b.png', 'no folder/a.png']
    paths = [str(tmp_path / name) for name in names]
    assert missing_files(paths) == paths[1:]
    assert missing_files([]) == []
    check_files(paths[:1], 'mask', 'list.txt')
    with pytest.raises(
        FileNotFoundError,
        match=r'mask .*b\.png does not exist \(2 of the 3 masks of list.txt',
    ):
        check_files(paths, 'mask', 'list.txt')


def test_parts_of_one_file_or_of_all(tmp_path):
    names = ('a.npz.1.part', 'a.npz.22.part', 'b[1].npz.3.part', 'c.npz')
    for name in names:
        (tmp_path / name).write_text('')
    remove_parts(str(tmp_path), 'a.npz')
    assert sorted(os.listdir(tmp_path)) == ['b[1].npz.3.part', 'c.npz']
    remove_parts(str(tmp_path), 'b[1].npz')
    assert os.listdir(tmp_path) == ['c.npz']
    (tmp_path / 'd.part').write_text('')
    remove_parts(str(tmp_path))
    assert os.listdir(tmp_path) == ['c.npz']
