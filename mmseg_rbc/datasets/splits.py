"""Which training images belong to a continual step."""

from __future__ import annotations

import hashlib
import os.path as osp
from collections.abc import Sequence

import numpy as np

from mmseg_rbc.tasks import Task

SETTINGS = ('overlapped', 'disjoint', 'sequential', 'partitioned')


def select_images(
    index: np.ndarray,
    task: Task,
    step: int,
    setting: str,
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Select the training images of a step.

    With S the classes of an image, C those of the step and P all earlier
    ones, background and void apart:

    - ``overlapped``: the image holds a class of the step (``S & C``).
    - ``disjoint`` and ``sequential``: it does, and no class of a later step
      (``S <= C | P``). They differ in the labels: ``sequential`` keeps the
      old classes. An image with a class that no step learns is in no such
      step.
    - ``partitioned``: each image in one step, see :func:`partition`.

    Args:
        index: ``(num_images, num_classes)`` bool, by class id.
        task: The task.
        step: The continual step.
        setting: One of :data:`SETTINGS`.
        names: Image names, which ``partitioned`` needs.
        seed: Seed of ``partitioned``.

    Returns:
        Increasing positions of the selected images.
    """
    check_setting(setting)
    has_new = index[:, task.steps[step]].any(1)
    if setting == 'overlapped':
        return np.flatnonzero(has_new)
    if setting == 'partitioned':
        if names is None:
            raise ValueError('the partitioned setting needs image names')
        return np.flatnonzero(partition(index, task, names, seed) == step)
    is_future = np.ones(index.shape[1], bool)
    is_future[list(task.seen(step))] = False
    return np.flatnonzero(has_new & ~index[:, is_future].any(1))


def partition(
    index: np.ndarray, task: Task, names: Sequence[str], seed: int
) -> np.ndarray:
    """Put every image into exactly one step.

    The candidates of an image are the steps that it has a class of (step 0
    if none). Its step is candidate ``h mod n`` of the n, with h the first 8
    bytes (big endian) of the SHA-256 of ``"<seed>/<name>"``: it depends on
    nothing but the seed, the name and the classes of the image.

    Returns:
        ``(num_images,)`` int: the step of every image.
    """
    has_step = np.stack([index[:, ids].any(1) for ids in task.steps], axis=1)
    has_step[~has_step.any(1), 0] = True
    count = has_step.sum(1)
    digests = (hashlib.sha256(f'{seed}/{n}'.encode()).digest() for n in names)
    hashes = [int.from_bytes(digest[:8], 'big') for digest in digests]
    chosen = np.array(hashes, np.uint64) % count.astype(np.uint64)
    # The position at which the running number of candidates passes `chosen`.
    return (has_step.cumsum(1) > chosen[:, None]).argmax(1)


def read_split(split_dir: str, step: int, num_images: int) -> np.ndarray:
    """Read a published index array instead of applying a rule.

    Args:
        split_dir: Folder with ``train-<step>.npy``: positions, counted from
            0, of the step's images in the image list.
        step: The continual step.
        num_images: Length of the image list.

    Returns:
        Positions of the step's images, in the order of the file.
    """
    path = osp.join(split_dir, f'train-{step}.npy')
    try:
        positions = np.load(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f'split file {path} does not exist: split_dir must hold one '
            'train-<step>.npy for every step'
        ) from None
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise ValueError(
            f'split file {path} is no numpy array of integers ({error})'
        ) from None
    if not isinstance(positions, np.ndarray):
        raise ValueError(f'split file {path} is an archive, not one array')
    if positions.ndim != 1 or positions.dtype.kind not in 'iu':
        raise ValueError(
            f'split file {path} holds {positions.dtype} of shape '
            f'{positions.shape}, expected a flat array of integers'
        )
    if positions.size and not 0 <= positions.min() <= positions.max() < (
        num_images
    ):
        raise ValueError(
            f'split file {path} names image {positions.max()} (smallest '
            f'{positions.min()}), but the image list has {num_images}: use '
            'the list that the split was made for'
        )
    if len(np.unique(positions)) < len(positions):
        values, counts = np.unique(positions, return_counts=True)
        raise ValueError(
            f'split file {path} names position {values[counts.argmax()]} '
            'more than once: each image may be in a step once'
        )
    return positions


def unlisted_classes(task: Task, setting: str, names: Sequence[str]) -> str:
    """Name the classes of no step if they keep images out of all steps."""
    listed = task.seen(task.num_steps - 1)
    unlisted = [name for c, name in enumerate(names) if c not in listed]
    if not unlisted or setting not in ('disjoint', 'sequential'):
        return ''
    return (
        f'; images with {", ".join(unlisted)}, which no step learns, are in '
        f'no {setting} step'
    )


def check_setting(setting: str, eval_images: str = 'all') -> None:
    """Raise unless the setting is known, and the images to evaluate."""
    if eval_images not in ('all', 'seen'):
        raise ValueError(
            f'eval_images={eval_images!r} is neither "all" nor "seen"'
        )
    if setting not in SETTINGS:
        raise ValueError(
            f'setting {setting!r} is unknown: choose one of '
            f'{", ".join(SETTINGS)}'
        )


def without_blank_lines(
    infos: list[dict], suffix: str, place: str | None
) -> list[dict]:
    """Return the samples of a list that name an image; raise if none does.

    Args:
        infos: The samples.
        suffix: Of images; all that a blank line gives.
        place: The list, or the folder.
    """
    named = [
        info for info in infos if osp.basename(info['img_path']) != suffix
    ]
    if not named:
        raise ValueError(
            f'{place} names no image (suffix {suffix!r}): check ann_file, '
            'data_prefix.img_path and img_suffix'
        )
    return named
