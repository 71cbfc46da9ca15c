"""Which label values each mask holds.

A class index is a boolean array ``(num_masks, 256)``: entry ``[i, v]`` says
whether label value ``v`` occurs in mask ``i``. The index of VOC 2012 ships
with the package; that of any other data is scanned once and cached.
"""

from __future__ import annotations

import hashlib
import os.path as osp
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np

from .class_index_cache import NUM_VALUES, ClassIndexCache
from .masks import Palette, open_mask, read_mask
from .scan import scan

SHIPPED_INDEX = osp.join(osp.dirname(__file__), 'voc12_class_index.npz')


def mask_labels(path: str, palette: Palette | None = None) -> np.ndarray:
    """Return the label values of one mask file.

    Args:
        path: The file.
        palette: See :func:`.read_mask`.

    Returns:
        ``(256,)`` bool: which values occur.
    """
    if palette is not None:
        values = read_mask(path, path, palette)
        return np.bincount(values.ravel(), minlength=NUM_VALUES) > 0
    with open_mask(path, path) as mask:
        return np.asarray(mask.histogram()) > 0


def load_class_index(
    mask_paths: Sequence[str],
    num_workers: int | None = None,
    palette: Palette | None = None,
) -> np.ndarray:
    """Return the class index of mask files, from the cache or by a scan.

    The cache is keyed by the names, sizes and modification times of the
    masks. One process scans while others wait for its result, and a scan
    that was interrupted continues where it was.

    Args:
        mask_paths: The mask files.
        num_workers: Processes that scan; as many as cores by default.
        palette: See :func:`.read_mask`.

    Returns:
        ``(len(mask_paths), 256)`` bool.
    """
    if not mask_paths:
        return np.zeros((0, NUM_VALUES), bool)
    kind = 'class_index'
    if palette is not None:
        colors = str([list(color) for color in palette])
        kind += f'-{hashlib.sha256(colors.encode()).hexdigest()[:8]}'
    cache = ClassIndexCache(mask_paths, kind)
    look = partial(_labels_of, palette=palette)
    return scan(mask_paths, cache, look, 'masks', num_workers)


def remembered_index(
    infos: Sequence[dict], load: Callable[[list[dict]], np.ndarray]
) -> np.ndarray:
    """Return the class index of samples, which remember their row of it.

    Args:
        infos: The samples; each gets its packed row as ``label_bits``.
        load: Returns the class index of samples that do not know it.

    Returns:
        ``(len(infos), 256)`` bool.
    """
    unknown = [info for info in infos if 'label_bits' not in info]
    if unknown:
        for info, row in zip(unknown, np.packbits(load(unknown), axis=1)):
            info['label_bits'] = row.tobytes()
    bits = b''.join(info['label_bits'] for info in infos)
    rows = np.frombuffer(bits, np.uint8).reshape(-1, NUM_VALUES // 8)
    return np.unpackbits(rows, axis=1).astype(bool)


def index_digest(names: Sequence[str], infos: Sequence[dict]) -> str:
    """Return a digest of samples: their names, and labels if remembered."""
    digest = hashlib.sha256()
    for name, info in zip(names, infos):
        digest.update(name.encode() + b'\0' + info.get('label_bits', b''))
    return digest.hexdigest()[:16]


def _labels_of(
    mask_paths: Sequence[str], palette: Palette | None
) -> np.ndarray:
    return np.stack([mask_labels(path, palette) for path in mask_paths])


def shipped_class_index(names: Sequence[str]) -> np.ndarray | None:
    """Return the class index of VOC 2012 images that the package carries.

    Args:
        names: Image names without folder and suffix, such as
            ``2007_000032``.

    Returns:
        ``(len(names), 256)`` bool, or None unless all names are VOC images
        of trainaug or val.
    """
    rows, bits, _ = _read_shipped()
    try:
        picked = [rows[name] for name in names]
    except KeyError:
        return None
    return np.unpackbits(bits[picked], axis=1).astype(bool)


def shipped_names(split: str) -> list[str]:
    """Return the image names of VOC 2012, sorted as in the usual lists.

    Args:
        split: ``trainaug`` (10,582 images) or ``val`` (1,449).
    """
    rows, _, is_val = _read_shipped()
    wanted = is_val if split == 'val' else ~is_val
    return [name for name, chosen in zip(rows, wanted) if chosen]


@lru_cache(maxsize=1)
def _read_shipped() -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    """Return row by name, packed label bits and whether an image is val's."""
    with np.load(SHIPPED_INDEX) as data:
        numbers = np.cumsum(data['gaps'], dtype=np.int64)
        bits = np.zeros((len(numbers), NUM_VALUES // 8), np.uint8)
        bits[:, :3], bits[:, -1] = data['bits'], data['void']
        is_val = np.unpackbits(data['is_val'], count=len(bits)).astype(bool)
    names = (f'{n // 10**6}_{n % 10**6:06d}' for n in numbers.tolist())
    return {name: i for i, name in enumerate(names)}, bits, is_val


def write_shipped(
    labels: Mapping[str, Sequence[int]], val: Collection[str], path: str
) -> None:
    """Write the compact index that :func:`shipped_class_index` reads.

    Names are stored as gaps between sorted numbers (``2007_000032`` is
    2007000032), labels 0 to 23 as three bytes of bits, 255 as one.

    Args:
        labels: Label values of every image, by image name.
        val: Names of the validation images.
        path: The ``.npz`` file to write.
    """
    names = sorted(labels)
    index = np.zeros((len(names), NUM_VALUES), bool)
    for row, name in zip(index, names):
        row[labels[name]] = True
    numbers = np.array([int(name.replace('_', '')) for name in names])
    bits = np.packbits(index, axis=1)
    if bits[:, 3:-1].any():
        raise ValueError('the compact index has no place for labels 24 to 247')
    np.savez_compressed(
        path,
        gaps=np.diff(numbers, prepend=0).astype(np.uint32),
        bits=bits[:, :3],
        void=bits[:, -1],
        is_val=np.packbits([name in val for name in names]),
    )
