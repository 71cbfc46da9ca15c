"""Data that several tests share."""

from __future__ import annotations

import gc
import logging
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers import make_tiny_config
from hypothesis import settings
from mmengine.logging import MMLogger
from mmengine.registry import init_default_scope
from PIL import Image

import mmseg_rbc  # noqa: F401
from mmseg_rbc.datasets.shapes import make_shapes
from mmseg_rbc.engine import run_sequence

SLOW = (
    'test_kill.py',
    'test_processes.py',
    'test_machines.py',
    'test_faults.py',
    'test_shares.py',
    'test_importance_hook.py',
    'test_train_tools.py',
    'test_result_tools.py',
    'test_end_to_end.py',
)

# The AMX kernels of oneDNN in torch 2.13 read memory that nobody wrote: finite
# images and weights in bfloat16 gave NaN, now and then.
os.environ.setdefault('ONEDNN_MAX_CPU_ISA', 'AVX512_CORE_BF16')
# Threads of the tools that tests run sleep instead of spinning while another
# process has their core.
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')

# The same examples in every run, so that no run fails by chance.
# --hypothesis-profile=search draws others, and more of them.
settings.register_profile(
    'repeat',
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    max_examples=25,
)
settings.register_profile(
    'search',
    settings.get_profile('repeat'),
    derandomize=False,
    max_examples=500,
)
settings.load_profile('repeat')


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files that take long: at the end one core would wait."""
    items.sort(key=lambda item: item.path.name not in SLOW)


def pytest_collection_finish() -> None:
    """Take what was imported out of sight of the garbage collector.

    MMEngine calls it for every data set that is built: a quarter of a second
    each, more than half the time of a tiny step.
    """
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget log files that runs of other tests have closed.

    MMEngine initializes weights through the logger that was made last, and
    writes into its file.
    """
    for logger in MMLogger._instance_dict.values():
        for handler in list(logger.handlers):
            is_file = isinstance(handler, logging.FileHandler)
            if is_file and handler.stream is None:
                logger.removeHandler(handler)


@pytest.fixture(autouse=True)
def _scope_and_cache(tmp_path_factory, monkeypatch):
    init_default_scope('mmseg')
    cache = tmp_path_factory.mktemp('cache')
    monkeypatch.setenv('MMSEG_RBC_CACHE', str(cache))


@pytest.fixture(scope='session')
def shapes_root(tmp_path_factory) -> str:
    """The synthetic data set as the quick start makes it."""
    root = tmp_path_factory.mktemp('shapes')
    make_shapes(str(root))
    return str(root)


@pytest.fixture(scope='session')
def tiny_root(tmp_path_factory) -> str:
    """40 + 6 small synthetic images."""
    root = tmp_path_factory.mktemp('tiny')
    make_shapes(str(root), 40, 6, size=(48, 64))
    return str(root)


@pytest.fixture
def tiny_config(tiny_root):
    """Return :func:`make_tiny_config` on the tiny data."""
    return partial(make_tiny_config, tiny_root)


@pytest.fixture(scope='session')
def tiny_run(tiny_root, tmp_path_factory) -> Path:
    """Return the work dir of a finished run of two steps."""
    init_default_scope('mmseg')
    work_dir = tmp_path_factory.mktemp('tiny_run') / 'plop'
    cfg, options = make_tiny_config(tiny_root, 'plop')
    run_sequence(cfg, str(work_dir), options=options)
    return work_dir


@pytest.fixture
def write_data(tmp_path):
    """Write masks, an image of the same size for each, and their list."""

    def write(masks: dict[str, np.ndarray], root: Path = tmp_path) -> Path:
        for folder in ('JPEGImages', 'SegmentationClassAug'):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name, mask in masks.items():
            mask = np.asarray(mask, np.uint8)
            image = np.full((*mask.shape[:2], 3), 100, np.uint8)
            Image.fromarray(image).save(root / f'JPEGImages/{name}.jpg')
            path = root / f'SegmentationClassAug/{name}.png'
            Image.fromarray(mask).save(path)
        (root / 'list.txt').write_text('\n'.join(masks) + '\n')
        return root

    return write


@pytest.fixture
def real_data() -> Path:
    """Folder of the real reduced VOC data (opt-in)."""
    folder = os.environ.get('MMSEG_RBC_REAL_DATA')
    if not folder:
        pytest.skip('set MMSEG_RBC_REAL_DATA to the folder of voc12_aug128')
    return Path(folder)
