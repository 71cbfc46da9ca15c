"""Read mask files, or say what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from PIL import Image


@contextmanager
def open_mask(file: str | BinaryIO, path: str) -> Iterator[Image.Image]:
    """Open a mask whose pixels are label values.

    Args:
        file: The file, or its path.
        path: Its path, for messages.

    Yields:
        A picture of one 8-bit channel: gray (mode L) or palette (mode P).
    """
    try:
        with Image.open(file) as mask:
            check_pixels(mask, path)
            mask.load()
            yield mask
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError) as error:
        raise ValueError(
            f'mask {path} cannot be decoded ({error}): restore the file'
        ) from None


def check_pixels(mask: Image.Image, path: str) -> None:
    """Raise unless Pillow will give the values as they are in the file."""
    kind = mask.mode
    # Pillow scales gray values of 2 and 4 bits to 8; the raw mode tells.
    tiles = getattr(mask, 'tile', None) or [(None, None, None, None)]
    raw = tiles[0][3]
    if kind == 'P' or (kind == 'L' and raw in ('L', None)):
        return
    kind = raw if kind == 'L' else kind
    raise ValueError(
        f'mask {path} has pixels of kind {kind}, expected one 8-bit channel '
        '(Pillow mode L or P) whose values are labels: convert colors to '
        'label values and save as 8-bit PNG'
    )
