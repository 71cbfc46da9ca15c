import os
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mmseg_rbc.datasets.class_index import (
    load_class_index,
    mask_labels,
    shipped_class_index,
    shipped_names,
    write_shipped,
)
from mmseg_rbc.datasets.class_index_cache import (
    CACHE_FOLDER,
    ClassIndexCache,
)


def write_masks(folder: Path, count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    paths = []
    for i in range(count):
        mask = rng.choice([0, 3, 7, 20, 255], (6, 5)).astype(np.uint8)
        paths.append(str(folder / f'{i}.png'))
        Image.fromarray(mask).save(paths[-1])
    return paths


def expected_index(paths: list[str]) -> np.ndarray:
    index = np.zeros((len(paths), 256), bool)
    for row, path in zip(index, paths):
        row[np.unique(np.array(Image.open(path)))] = True
    return index


def cache_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f'{CACHE_FOLDER}/*.npz'))


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


SCAN = """
import sys
from mmseg_rbc.datasets.class_index import load_class_index
index = load_class_index(sys.argv[2:], int(sys.argv[1]))
print(index.sum())
"""


def start_scan(paths: list[str], num_workers: int = 2) -> subprocess.Popen:
    command = [sys.executable, '-c', SCAN, str(num_workers), *paths]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_scan_goes_on(tmp_path):
    """A kill -9 leaves no lock, loses at most a second, and no row twice."""
    rng = np.random.default_rng(0)
    big = rng.integers(0, 9, (2000, 2000)).astype(np.uint8)
    Image.fromarray(big).save(tmp_path / '0000.png', compress_level=1)
    paths = [str(tmp_path / f'{i:04d}.png') for i in range(768)]
    for path in paths[1:]:
        os.link(paths[0], path)
    scan = start_scan(paths)
    deadline = time.monotonic() + 60
    while not cache_files(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    scan.send_signal(signal.SIGKILL)
    scan.wait()
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


def test_others_wait_for_the_process_that_scans(tmp_path):
    """While the lock is held nobody scans; then the cache is read."""
    paths = write_masks(tmp_path, 300)
    cache = ClassIndexCache(paths)
    with cache.lock():
        scan = start_scan(paths, 1)
        with pytest.raises(subprocess.TimeoutExpired):
            scan.communicate(timeout=8)
        # A result that no scan would give shows who made it.
        made_up = np.ones((300, 256), bool)
        cache.write(made_up)
    assert scan.communicate()[0].split()[-1] == str(made_up.sum())
    assert len(cache_files(tmp_path)) == 1
    assert not list(tmp_path.glob(f'{CACHE_FOLDER}/*.part'))


def test_unwritable_cache_costs_no_run(tmp_path, monkeypatch):
    (tmp_path / CACHE_FOLDER).write_text('')
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv('MMSEG_RBC_CACHE', str(tmp_path / 'file'))
    paths = write_masks(tmp_path, 3)
    index = load_class_index(paths)
    np.testing.assert_array_equal(index, expected_index(paths))


def test_gray_masks_of_few_bits_are_refused(tmp_path):
    """Pillow would turn value 1 of a 4-bit mask into 17."""
    path = tmp_path / 'four.png'
    header = struct.pack('>IIBBBBB', 2, 1, 4, 0, 0, 0, 0)
    chunks = [
        (b'IHDR', header),
        (b'IDAT', zlib.compress(bytes([0, 0x12]))),
        (b'IEND', b''),
    ]
    png = b'\x89PNG\r\n\x1a\n'
    for name, data in chunks:
        check = struct.pack('>I', zlib.crc32(name + data))
        png += struct.pack('>I', len(data)) + name + data + check
    path.write_bytes(png)
    with pytest.raises(ValueError, match=r'four\.png has pixels of kind L;4'):
        mask_labels(str(path))


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


def test_truncated_mask_is_named(tmp_path):
    path = tmp_path / 'cut.png'
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 20, (80, 80)).astype(np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r'cut\.png cannot be decoded'):
        mask_labels(str(path))


def test_shipped_index():
    index = shipped_class_index(['2007_000032', '2007_000039'])
    assert np.flatnonzero(index[0]).tolist() == [0, 1, 15, 255]
    assert np.flatnonzero(index[1]).tolist() == [0, 20, 255]
    assert shipped_class_index(['2007_000032', 'mine']) is None
    assert len(shipped_names('trainaug')) == 10582
    assert len(shipped_names('val')) == 1449
    assert shipped_names('val')[0] == '2007_000033'


def test_shipped_index_has_no_place_for_other_labels(tmp_path):
    with pytest.raises(ValueError, match='no place for labels 24'):
        write_shipped({'2007_000001': [0, 30]}, [], str(tmp_path / 'x.npz'))
