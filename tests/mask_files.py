"""Masks on disk, and what their class index must be."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from helpers import tool_environment
from PIL import Image

from mmseg_rbc.datasets.class_index_cache import CACHE_FOLDER

SCAN = """
import sys
from mmseg_rbc.datasets.class_index import load_class_index
index = load_class_index(sys.argv[2:], int(sys.argv[1]))
print(index.sum())
"""


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


def start_scan(paths: list[str], num_workers: int) -> subprocess.Popen:
    """Scan in another process, which prints the number of labels found."""
    return subprocess.Popen(
        [sys.executable, '-u', '-c', SCAN, str(num_workers), *paths],
        stdout=subprocess.PIPE,
        text=True,
        env=tool_environment(),
    )
