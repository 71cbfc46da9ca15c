"""Find images and masks that cannot be trained with, before training.

Headers and ends of all files are read, not their pixels: seconds for ten
thousand files, and only once.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import partial

import numpy as np
from mmengine.logging import print_log
from PIL import Image

from .class_index_cache import ClassIndexCache
from .masks import check_pixels
from .scan import scan

# The tag of EXIF that says how a camera was held; 1 is upright.
ORIENTATION = 274
# What whole files end with, and after it at most some padding.
ENDS = dict(JPEG=b'\xff\xd9', PNG=b'IEND')
END_BYTES = 64
Pair = tuple[str, str]


def find_unreadable(
    pairs: Sequence[Pair],
    num_workers: int | None = None,
    has_colors: bool = False,
) -> dict[int, str]:
    """Look at images and their masks.

    Args:
        pairs: Paths of images and of their masks, which exist.
        has_colors: Whether pixels of masks may be colors.
        num_workers: Processes that read; as many as cores by default.

    Returns:
        A sentence for every pair that cannot be trained with, by position.
    """
    if not pairs:
        return {}
    paths = [path for pair in pairs for path in pair]
    kind = 'headers-rgb' if has_colors else 'headers'
    cache = ClassIndexCache(paths, kind, num_columns=8)
    look = partial(_are_fine, has_colors=has_colors)
    is_fine = scan(pairs, cache, look, 'image headers', num_workers)
    wrong: list[int] = np.flatnonzero(~is_fine[:, 0]).tolist()
    found = {i: pair_problem(*pairs[i], has_colors) for i in wrong}
    return {i: problem for i, problem in found.items() if problem}


def check_readable(pairs: Sequence[Pair], has_colors: bool = False) -> None:
    """Raise for the first pair that cannot be trained with."""
    found = find_unreadable(pairs, has_colors=has_colors)
    if found:
        raise ValueError(
            f'{found[min(found)]} ({len(found)} of {len(pairs)} images have '
            'such a problem; continual.skip_unreadable=True trains without '
            'them)'
        )


def drop_unreadable(infos: list[dict]) -> list[dict]:
    """Return the samples that can be trained with, and log the others."""
    pairs = [(info['img_path'], info['seg_map_path']) for info in infos]
    has_colors = any('mask_palette' in info for info in infos)
    found = find_unreadable(pairs, has_colors=has_colors)
    for problem in found.values():
        print_log(f'left out: {problem}', 'current', logging.WARNING)
    return [info for i, info in enumerate(infos) if i not in found]


def _are_fine(pairs: Sequence[Pair], has_colors: bool) -> np.ndarray:
    """Return ``(len(pairs), 8)`` bool: the first column says it."""
    rows = np.zeros((len(pairs), 8), bool)
    rows[:, 0] = [pair_problem(*pair, has_colors) is None for pair in pairs]
    return rows


def pair_problem(
    image_path: str, mask_path: str, has_colors: bool = False
) -> str | None:
    """Say what is wrong with an image or its mask; None if nothing is."""
    try:
        size, orientation = _look_at_image(image_path)
    except Exception as error:  # Pillow raises many kinds for a damaged file
        return f'image {image_path} cannot be read ({error}): restore the file'
    try:
        mask_size = _look_at_mask(mask_path, has_colors)
    except ValueError as error:
        return str(error)
    except Exception as error:
        return f'mask {mask_path} cannot be read ({error}): restore the file'
    turned = ''
    if orientation != 1:
        # mmcv turns the image upright when it reads it, never the mask.
        turned = f' when it is turned by its EXIF orientation, {orientation}'
        size = size[::-1] if orientation >= 5 else size
        if orientation < 5 or size[0] == size[1]:
            return (
                f'image {image_path} is turned by its EXIF orientation, '
                f'{orientation}, and nothing tells whether its mask is: save '
                'the image upright, without that tag, and a mask to match'
            )
    if size != mask_size:
        return (
            f'image {image_path} has {size[1]} x {size[0]} pixels{turned}, '
            f'but its mask {mask_path} has {mask_size[1]} x {mask_size[0]}: '
            'they must agree (height x width)'
        )
    return None


def _look_at_image(path: str) -> tuple[tuple[int, int], int]:
    """Return width and height, and the orientation."""
    with Image.open(_not_empty(path)) as image:
        _check_end(image, path)
        orientation = image.getexif().get(ORIENTATION, 1)
        known = isinstance(orientation, int) and 1 <= orientation <= 8
        return image.size, orientation if known else 1


def _look_at_mask(path: str, has_colors: bool) -> tuple[int, int]:
    """Return width and height."""
    with Image.open(_not_empty(path)) as mask:
        check_pixels(mask, path, has_colors)
        _check_end(mask, path)
        return mask.size


def _not_empty(path: str) -> str:
    if os.path.getsize(path) == 0:
        raise OSError('the file is empty')
    return path


def _check_end(image: Image.Image, path: str) -> None:
    """Raise if a file is truncated; OpenCV would fill the rest with gray."""
    end = ENDS.get(image.format or '')
    if end:
        with open(path, 'rb') as file:
            file.seek(max(0, os.path.getsize(path) - END_BYTES))
            if end in file.read():
                return
    image.load()
