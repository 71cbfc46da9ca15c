"""Real faults in small; tests/test_faults.py has them in whole runs."""

from __future__ import annotations

import errno
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from mmseg.registry import TRANSFORMS
from PIL import Image
from torch.utils.data import DataLoader

from mmseg_rbc.datasets.class_index_cache import ClassIndexCache
from mmseg_rbc.datasets.scan import scan
from mmseg_rbc.utils.checkpoint import save_checkpoint
from mmseg_rbc.utils.faults import explained_faults, fault_sentence
from mmseg_rbc.utils.files import write_json


@contextmanager
def file_size_limit(num_bytes: int):
    """Let the kernel refuse larger files, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def ends_with(action: Callable[[], object]) -> str:
    """Return the sentence that an action ends with."""
    with pytest.raises(SystemExit) as info:
        with explained_faults(lambda: 'run it again'):
            action()
    text = str(info.value)
    assert text.startswith('error: ') and text.endswith('; run it again')
    return text[len('error: ') : -len('; run it again')]


@pytest.mark.parametrize('name', ['a.json', 'a.pth'])
def test_full_disk_names_the_file_and_keeps_the_old_one(tmp_path, name):
    """Neither half a file nor a temporary one is left."""
    path = tmp_path / name
    path.write_text('old')

    def write() -> None:
        if name == 'a.json':
            write_json(str(path), list(range(1000)))
        else:
            save_checkpoint(dict(a=torch.ones(10**5)), str(path))

    with file_size_limit(2000):
        said = ends_with(write)
    assert said == (
        f'{path} cannot be written (File too large): free some space on its '
        'disk'
    )
    assert path.read_text() == 'old' and os.listdir(tmp_path) == [name]


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='no /dev/full')
def test_full_disk_without_a_name():
    def write() -> None:
        with open('/dev/full', 'w') as file:
            file.write('x')

    assert ends_with(write).startswith(
        'a log or checkpoint of the work dir cannot be written (No space left'
    )


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='no /dev/full')
def test_log_on_a_full_disk_is_quiet(capfd):
    """Its lines are lost, and nothing else."""
    handler = logging.FileHandler('/dev/full')
    logger = logging.Logger('full')
    logger.addHandler(handler)
    with explained_faults(str):
        logger.warning('x')
    assert capfd.readouterr().err == ''
    logger.warning('x')
    assert 'Logging error' in capfd.readouterr().err
    logger.removeHandler(handler)
    with pytest.raises(OSError, match='No space left'):
        handler.close()


def test_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / 'file').write_text('')
    path = tmp_path / 'file/a.json'
    said = ends_with(lambda: write_json(str(path), 1))
    assert said.startswith(f'{tmp_path / "file"} cannot be used (File exists)')


class Data:
    """Three samples, the last of which does something."""

    def __init__(self, last: Callable[[], object]) -> None:
        self.last = last

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> object:
        return self.last() if index == 2 else index


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def load_all(last: Callable[[], object], workers: int) -> list:
    return list(DataLoader(Data(last), num_workers=workers))


def test_killed_data_worker():
    said = ends_with(lambda: load_all(die, 1))
    assert said.startswith('a process that reads data died (DataLoader worker')
    assert said.endswith('is full, use fewer train_dataloader.num_workers')


def reset_then_killed() -> None:
    """What a worker that dies while a tensor is fetched looks like.

    The connection ends first, the signal comes later.
    """
    loader = iter(DataLoader(Data(wait), num_workers=1))
    next(loader)
    (worker,) = loader._workers
    killer = threading.Timer(0.2, os.kill, (worker.pid, signal.SIGKILL))
    killer.start()
    raise ConnectionResetError(errno.ECONNRESET, 'Connection reset by peer')


def wait() -> None:
    time.sleep(60)


def test_connection_to_a_killed_data_worker():
    said = ends_with(reset_then_killed)
    assert said.startswith('a process that reads data died (DataLoader worker')


def test_lost_process():
    error = RuntimeError('[pair.cc:1] Connection closed by peer [::1]:7')
    assert fault_sentence(error).startswith(
        'another process of this run ended (Connection closed by peer): its'
    )
    assert fault_sentence(ValueError('Connection closed by peer')) is None


def test_other_connections_pass():
    def broken() -> None:
        raise ConnectionResetError(errno.ECONNRESET, 'not of a worker')

    with pytest.raises(ConnectionResetError, match='not of a worker'):
        with explained_faults(lambda: 'run it again'):
            broken()


def look(numbers: list[int]) -> np.ndarray:
    if 100 in numbers and os.getpid() != MAIN:
        die()
    return np.ones((len(numbers), 8), bool)


MAIN = os.getpid()


@pytest.mark.skipif(sys.platform != 'linux', reason='forks')
def test_killed_scan(tmp_path):
    """It ends instead of waiting for ever, and goes on another time."""
    (tmp_path / 'a').write_text('')
    cache = ClassIndexCache([str(tmp_path / 'a')], 'bits', num_columns=8)
    numbers = list(range(200))
    said = ends_with(lambda: scan(numbers, cache, look, 'numbers', 2))
    assert said.startswith('a process that reads data died (A process in the')
    assert scan(numbers, cache, look, 'numbers', 1).all()


@pytest.mark.parametrize('workers', [0, 1])
def test_image_that_cannot_be_decoded(tmp_path, workers):
    """One byte in the middle of a PNG; the sum of its block is wrong."""
    path = tmp_path / 'a.png'
    noise = np.random.default_rng(0).integers(256, size=(32, 32, 3))
    Image.fromarray(noise.astype(np.uint8)).save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    transform = TRANSFORMS.build(dict(type='LoadImageFromFile'))
    said = ends_with(
        lambda: load_all(lambda: transform(dict(img_path=str(path))), workers)
    )
    assert said == (
        f'image {path} cannot be decoded: restore the file, or take it out of '
        'the image list'
    )


def test_sentence_of_ours_in_a_worker(tmp_path):
    path = tmp_path / 'mask.png'
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(path)
    transform = TRANSFORMS.build(dict(type='LoadContinualAnnotations'))
    results = dict(seg_map_path=str(path), seg_fields=[], label_map={0: 0})
    said = ends_with(lambda: load_all(lambda: transform(results), 1))
    assert said.startswith(f'mask {path} has pixels of kind RGB, expected')


@pytest.mark.parametrize(
    'error',
    [
        RuntimeError('mat1 and mat2 shapes cannot be multiplied'),
        AssertionError('no image'),
        OSError(errno.ECHILD, 'No child processes'),
        FileNotFoundError(errno.ENOENT, 'No such file', 'a'),
        RuntimeError('Caught RuntimeError in DataLoader worker process 0.\n'),
    ],
    ids=repr,
)
def test_other_errors_keep_their_traceback(error):
    assert fault_sentence(error) is None
    with pytest.raises(type(error)) as info:
        with explained_faults(str):
            raise error
    assert info.value is error


def test_traceback_on_request(tmp_path, monkeypatch):
    monkeypatch.setenv('MMSEG_RBC_TRACEBACK', '1')
    with pytest.raises(OSError, match='File too large'):
        with file_size_limit(2), explained_faults(str):
            write_json(str(tmp_path / 'a'), [1, 2])
