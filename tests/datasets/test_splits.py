import hashlib
import itertools

import numpy as np
import pytest
from helpers import BENCHMARK_TASKS

from mmseg_rbc.datasets.class_index import shipped_class_index, shipped_names
from mmseg_rbc.datasets.splits import (
    SETTINGS,
    partition,
    read_split,
    select_images,
)
from mmseg_rbc.tasks import Task

# Classes of five images; task: step 0 learns 1 and 2, then 3, then 4.
IMAGES = [{0, 1}, {1, 3, 255}, {0, 3, 4}, {0}, {2, 3}]
TASK = Task.from_names([[1, 2], [3], [4]], ['background', *'abcd'])


def make_index(images: list[set], num_classes: int = 5) -> np.ndarray:
    index = np.zeros((len(images), num_classes), bool)
    for row, classes in zip(index, images):
        row[[c for c in classes if c != 255]] = True
    return index


@pytest.mark.parametrize(
    'setting, expected',
    [
        ('overlapped', [[0, 1, 4], [1, 2, 4], [2]]),
        ('disjoint', [[0], [1, 4], [2]]),
        ('sequential', [[0], [1, 4], [2]]),
    ],
)
def test_settings_by_hand(setting, expected):
    index = make_index(IMAGES)
    found = [
        select_images(index, TASK, step, setting).tolist() for step in range(3)
    ]
    assert found == expected


def test_partitioned_follows_its_documented_rule():
    index = make_index(IMAGES)
    names = [f'image{i}' for i in range(len(IMAGES))]
    candidates = [[0], [0, 1], [1, 2], [0], [0, 1]]
    for seed in range(5):
        expected = []
        for name, steps in zip(names, candidates):
            digest = hashlib.sha256(f'{seed}/{name}'.encode()).hexdigest()
            expected.append(steps[int(digest[:16], 16) % len(steps)])
        found = partition(index, TASK, names, seed)
        assert found.tolist() == expected
        for step in range(3):
            chosen = select_images(
                index, TASK, step, 'partitioned', names, seed
            )
            assert chosen.tolist() == np.flatnonzero(found == step).tolist()


@pytest.fixture(scope='module')
def trainaug() -> np.ndarray:
    """The shipped index of VOC trainaug, by class id."""
    index = shipped_class_index(shipped_names('trainaug'))
    assert index is not None
    return index[:, :21]


def test_published_image_counts(trainaug):
    """The counts that four code bases agree on."""
    expected = {
        ('15-5', 'overlapped'): [9568, 2145],
        ('15-5', 'disjoint'): [8437, 2145],
        ('15-1', 'overlapped'): [9568, 487, 299, 491, 500, 548],
        ('15-1', 'disjoint'): [8437, 378, 299, 420, 500, 548],
    }
    found = {}
    for name, setting in expected:
        task = Task.parse(name, 21)
        found[name, setting] = [
            len(select_images(trainaug, task, step, setting))
            for step in range(task.num_steps)
        ]
    assert found == expected


@pytest.mark.parametrize('num_foreground, names', BENCHMARK_TASKS.items())
def test_invariants_of_all_tasks(trainaug, num_foreground, names):
    rng = np.random.default_rng(0)
    index = trainaug
    if num_foreground != 20:
        index = rng.random((3000, num_foreground + 1)) < 0.03
    with_classes = np.flatnonzero(index[:, 1:].any(1)).tolist()
    images = [str(i) for i in range(len(index))]
    for order in [None, 'b', 'w'] if num_foreground == 20 else [None]:
        for name, setting in itertools.product(names, SETTINGS):
            task = Task.parse(name, num_foreground + 1, order)
            parts = [
                select_images(index, task, step, setting, images)
                for step in range(task.num_steps)
            ]
            together = sorted(np.concatenate(parts).tolist())
            if setting == 'overlapped':
                assert sorted(set(together)) == with_classes
            elif setting == 'partitioned':
                assert together == list(range(len(index)))
            else:
                assert together == with_classes


def test_read_split(tmp_path):
    np.save(tmp_path / 'train-1.npy', np.array([4, 0, 2]))
    assert read_split(str(tmp_path), 1, 5).tolist() == [4, 0, 2]


# A header that promises more than any memory holds.
HUGE = b"{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999,)}"
HUGE = b'\x93NUMPY\x01\x00v\x00' + HUGE.ljust(117) + b'\n'


@pytest.mark.parametrize(
    'content, error, sentence',
    [
        (None, FileNotFoundError, r'train-0\.npy does not exist'),
        (b'text', ValueError, r'train-0\.npy is no numpy array'),
        (HUGE, ValueError, r'train-0\.npy is no numpy array.*Unable to alloc'),
        (np.array([0.5]), ValueError, 'expected a flat array of integers'),
        (np.array([[1]]), ValueError, 'expected a flat array of integers'),
        (np.array([5]), ValueError, 'names image 5 .* list has 5'),
        (np.array([-1]), ValueError, 'smallest -1'),
    ],
)
def test_bad_split_files(tmp_path, content, error, sentence):
    path = tmp_path / 'train-0.npy'
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    with pytest.raises(error, match=sentence):
        read_split(str(tmp_path), 0, 5)


def test_unknown_setting():
    with pytest.raises(ValueError, match="setting 'overlap' is unknown"):
        select_images(make_index(IMAGES), TASK, 0, 'overlap')
