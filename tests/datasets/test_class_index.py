"""Scans of masks, and the index that ships with the package."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mask_files import cache_files, expected_index, start_scan, write_masks
from PIL import Image

from mmseg_rbc.datasets import class_index
from mmseg_rbc.datasets.class_index import (
    load_class_index,
    mask_labels,
    remembered_index,
    shipped_class_index,
    shipped_names,
    write_shipped,
)


@pytest.mark.parametrize('num_workers', [1, 2, 3])
def test_index_equals_a_plain_scan(tmp_path, num_workers):
    paths = write_masks(tmp_path, 200)
    index = load_class_index(paths, num_workers)
    np.testing.assert_array_equal(index, expected_index(paths))
    assert len(cache_files(tmp_path)) == 1


def test_palette_masks_count_indices_not_colors(tmp_path):
    mask = Image.fromarray(np.array([[0, 15], [255, 0]], np.uint8))
    mask.putpalette(list(range(256)) * 3)
    mask.save(tmp_path / 'p.png')
    labels = mask_labels(str(tmp_path / 'p.png'))
    assert np.flatnonzero(labels).tolist() == [0, 15, 255]


def children(pid: int) -> list[str]:
    return Path(f'/proc/{pid}/task/{pid}/children').read_text().split()


def is_alive(pid: str) -> bool:
    """Whether a process runs; a zombie waits for its parent only."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().split()[2] != 'Z'
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != 'linux', reason='looks into /proc')
def test_killed_scan_goes_on(tmp_path):
    """A kill -9 leaves no lock and no process, loses at most a second, and
    reads no row twice.
    """
    rng = np.random.default_rng(0)
    big = rng.integers(0, 9, (2000, 2000)).astype(np.uint8)
    Image.fromarray(big).save(tmp_path / '0000.png', compress_level=1)
    paths = [str(tmp_path / f'{i:04d}.png') for i in range(768)]
    for path in paths[1:]:
        os.link(paths[0], path)
    scan = start_scan(paths, 2)
    deadline = time.monotonic() + 300
    while not cache_files(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = children(scan.pid)
    scan.send_signal(signal.SIGKILL)
    scan.wait()
    assert len(workers) == 2
    while any(map(is_alive, workers)) and time.monotonic() < deadline + 60:
        time.sleep(0.02)
    assert not any(map(is_alive, workers))
    (cache,) = cache_files(tmp_path)
    with np.load(cache) as data:
        done = len(data['bits'])
    assert 0 < done < len(paths), 'the kill came too late to test anything'
    # Small masks now, but unchanged in the eyes of the key: only rows that
    # were not scanned before may be read again.
    before = os.stat(paths[0])
    small = np.full((1, 1), 200, np.uint8)
    replacement = tmp_path / 'small'
    Image.fromarray(small).save(replacement, 'PNG')
    with open(replacement, 'ab') as file:
        file.truncate(before.st_size)
    os.utime(replacement, ns=(before.st_mtime_ns, before.st_mtime_ns))
    for path in paths:
        os.unlink(path)
        os.link(replacement, path)
    index = load_class_index(paths)
    assert index[:done, :9].all() and not index[:done, 9:].any()
    assert index[done:, 200].all() and index[done:].sum() == len(paths) - done


def test_empty_list():
    assert load_class_index([]).shape == (0, 256)


def test_bad_masks_are_named_and_good_ones_kept(tmp_path):
    paths = write_masks(tmp_path, 130)
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(paths[100])
    with pytest.raises(ValueError, match=r'100\.png has pixels of kind RGB'):
        load_class_index(paths, 1)
    with np.load(cache_files(tmp_path)[0]) as data:
        assert len(data['bits']) == 64
    Path(paths[100]).write_bytes(b'not a picture')
    with pytest.raises(ValueError, match=r'100\.png cannot be decoded'):
        load_class_index(paths, 2)


def test_shipped_index():
    index = shipped_class_index(['2007_000032', '2007_000039'])
    assert np.flatnonzero(index[0]).tolist() == [0, 1, 15, 255]
    assert np.flatnonzero(index[1]).tolist() == [0, 20, 255]
    assert shipped_class_index(['2007_000032', 'mine']) is None
    assert len(shipped_names('trainaug')) == 10582
    assert len(shipped_names('val')) == 1449
    assert shipped_names('val')[0] == '2007_000033'


def test_written_index_is_read(tmp_path, monkeypatch):
    labels = {'2011_000003': [0, 23], '2007_000032': [1, 15, 255]}
    path = str(tmp_path / 'x.npz')
    write_shipped(labels, ['2011_000003'], path)
    monkeypatch.setattr(class_index, 'SHIPPED_INDEX', path)
    class_index._read_shipped.cache_clear()
    try:
        index = shipped_class_index(['2011_000003', '2007_000032'])
        assert np.flatnonzero(index[0]).tolist() == [0, 23]
        assert np.flatnonzero(index[1]).tolist() == [1, 15, 255]
        assert shipped_names('val') == ['2011_000003']
        assert shipped_names('trainaug') == ['2007_000032']
    finally:
        class_index._read_shipped.cache_clear()


def test_shipped_index_has_no_place_for_other_labels(tmp_path):
    with pytest.raises(ValueError, match='no place for labels 24'):
        write_shipped({'2007_000001': [0, 30]}, [], str(tmp_path / 'x.npz'))


def test_samples_remember_their_labels():
    """Only those that do not know are asked for."""
    index = np.zeros((3, 256), bool)
    index[[0, 1, 2], [5, 255, 0]] = True
    asked = []

    def load(infos):
        asked.append([info['row'] for info in infos])
        return index[asked[-1]]

    infos = [dict(row=i) for i in range(3)]
    assert (remembered_index(infos[1:2], load) == index[1:2]).all()
    for _ in range(2):
        assert (remembered_index(infos, load) == index).all()
    assert asked == [[1], [0, 2]]
    assert remembered_index([], load).shape == (0, 256)
