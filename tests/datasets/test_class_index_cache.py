"""Caches that are used, stale, damaged, moved, shared or not writable."""

import os

import numpy as np
import pytest
from mask_files import cache_files, expected_index, start_scan, write_masks
from mmengine.logging import MMLogger
from PIL import Image

from mmseg_rbc.datasets.class_index import load_class_index
from mmseg_rbc.datasets.class_index_cache import (
    CACHE_FOLDER,
    ClassIndexCache,
)


def test_written_rows_are_read(tmp_path):
    """Also of an interrupted scan: those of the first masks."""
    paths = write_masks(tmp_path, 5)
    cache = ClassIndexCache(paths)
    assert cache.read().shape == (0, 256)
    for rows in (3, 5):
        index = np.random.default_rng(rows).random((rows, 256)) < 0.5
        cache.write(index)
        np.testing.assert_array_equal(cache.read(), index)
        np.testing.assert_array_equal(ClassIndexCache(paths).read(), index)


def test_cache_is_used_and_follows_the_masks(tmp_path):
    paths = write_masks(tmp_path, 5)
    first = load_class_index(paths)
    (cache,) = cache_files(tmp_path)
    written = cache.stat().st_mtime_ns
    np.testing.assert_array_equal(load_class_index(paths), first)
    assert cache.stat().st_mtime_ns == written
    Image.fromarray(np.full((6, 5), 9, np.uint8)).save(paths[2])
    index = load_class_index(paths)
    assert np.flatnonzero(index[2]).tolist() == [9]
    assert cache_files(tmp_path) == [cache]
    # Another list of the same folder has a cache of its own.
    np.testing.assert_array_equal(load_class_index(paths[:3]), index[:3])
    assert len(cache_files(tmp_path)) == 2


def test_same_size_but_newer_mask_is_stale(tmp_path):
    paths = write_masks(tmp_path, 2)
    Image.fromarray(np.full((4, 4), 3, np.uint8)).save(paths[0])
    load_class_index(paths)
    old = os.stat(paths[0])
    Image.fromarray(np.full((4, 4), 7, np.uint8)).save(paths[0])
    assert os.stat(paths[0]).st_size == old.st_size
    os.utime(paths[0], ns=(old.st_mtime_ns + 1, old.st_mtime_ns + 1))
    assert np.flatnonzero(load_class_index(paths)[0]).tolist() == [7]


def test_moved_data_keeps_its_cache(tmp_path):
    (tmp_path / 'a').mkdir()
    paths = write_masks(tmp_path / 'a', 4)
    load_class_index(paths)
    (cache,) = cache_files(tmp_path / 'a')
    written = cache.stat().st_mtime_ns
    (tmp_path / 'a').rename(tmp_path / 'b')
    moved = [path.replace('/a/', '/b/') for path in paths]
    load_class_index(moved)
    (cache,) = cache_files(tmp_path / 'b')
    assert cache.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    'damage', ['garbage', 'truncated', 'flipped', 'empty']
)
def test_damaged_cache_is_rebuilt(tmp_path, damage):
    paths = write_masks(tmp_path, 70)
    load_class_index(paths)
    (cache,) = cache_files(tmp_path)
    data = bytearray(cache.read_bytes())
    middle = len(data) // 2
    if damage == 'garbage':
        data = bytearray(b'no zip file')
    elif damage == 'truncated':
        data = data[:middle]
    elif damage == 'flipped':
        data[middle] ^= 0xFF
    else:
        data = bytearray()
    cache.write_bytes(bytes(data))
    index = load_class_index(paths)
    np.testing.assert_array_equal(index, expected_index(paths))
    assert bytes(data) != cache.read_bytes()


@pytest.mark.parametrize(
    'bits',
    [np.zeros((70, 3), np.uint8), np.zeros((70, 32)), np.uint8(1)],
    ids=['narrow', 'float', 'number'],
)
def test_cache_that_someone_else_made_is_rebuilt(tmp_path, bits):
    """With the right key, which anyone can compute."""
    paths = write_masks(tmp_path, 70)
    load_class_index(paths)
    (cache,) = cache_files(tmp_path)
    with np.load(cache) as data:
        key = data['key']
    np.savez(cache, key=key, bits=bits)
    index = load_class_index(paths)
    np.testing.assert_array_equal(index, expected_index(paths))


def test_read_only_data_is_cached_elsewhere(tmp_path, monkeypatch):
    data, cache = tmp_path / 'data', tmp_path / 'cache'
    data.mkdir()
    # Root may write anywhere; a file in the way stops root as well.
    (data / CACHE_FOLDER).write_text('')
    monkeypatch.setenv('MMSEG_RBC_CACHE', str(cache))
    paths = write_masks(data, 3)
    index = load_class_index(paths)
    (written,) = cache.glob('*/*.npz')
    stamp = written.stat().st_mtime_ns
    np.testing.assert_array_equal(load_class_index(paths), index)
    assert written.stat().st_mtime_ns == stamp


def test_others_wait_for_the_process_that_scans(tmp_path):
    """While the lock is held nobody scans; then the cache is read."""
    paths = write_masks(tmp_path, 300)
    cache = ClassIndexCache(paths)
    with cache.lock():
        scan = start_scan(paths, 1)
        line = scan.stdout.readline()
        assert 'waiting for the process that scans' in line
        # A result that no scan would give shows who made it.
        made_up = np.ones((300, 256), bool)
        cache.write(made_up)
    assert scan.communicate()[0].split()[-1] == str(made_up.sum())
    assert len(cache_files(tmp_path)) == 1
    assert not list(tmp_path.glob(f'{CACHE_FOLDER}/*.part'))


def test_unwritable_cache_costs_no_run(tmp_path, monkeypatch, capsys):
    MMLogger.get_instance('unwritable', log_level='INFO')
    (tmp_path / CACHE_FOLDER).write_text('')
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('MMSEG_RBC_CACHE', str(tmp_path / 'file'))
    paths = write_masks(tmp_path, 3)
    index = load_class_index(paths)
    np.testing.assert_array_equal(index, expected_index(paths))
    lines = ''.join(capsys.readouterr()).splitlines()
    said = [line for line in lines if 'is not written' in line]
    assert len(said) == 2, said
    assert f'; trying {tmp_path / "file"}/' in said[0]
    assert said[1].endswith('; going on without')


def test_part_of_a_killed_process_is_removed(tmp_path):
    """Of this list; another process may be writing that of another."""
    paths = write_masks(tmp_path, 3)
    load_class_index(paths)
    (cache,) = cache_files(tmp_path)
    mine, other = (
        cache.with_name(f'{name}.npz.77.part') for name in (cache.stem, 'x')
    )
    for path in (mine, other):
        path.write_text('half')
    cache.unlink()
    load_class_index(paths)
    assert other.exists() and not mine.exists()
