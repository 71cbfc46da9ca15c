"""Read mask files, or say what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np
from PIL import Image

# Colors of label values 0, 1, ... as (red, green, blue).
Palette = Sequence[Sequence[int]]


def read_mask(
    file: str | BinaryIO, path: str, palette: Palette | None = None
) -> np.ndarray:
    """Return the label values of a mask.

    Args:
        file: The file, or its path.
        path: Its path, for messages.
        palette: The colors of the label values, if the mask has colors.

    Returns:
        ``(H, W)`` uint8.
    """
    with open_mask(file, path, palette is not None) as mask:
        if palette is None:
            return np.array(mask)
        return label_values(np.array(mask.convert('RGB')), palette, path)


def label_values(
    colors: np.ndarray, palette: Palette, path: str
) -> np.ndarray:
    """Turn colors into the positions that they have in a palette.

    Args:
        colors: ``(H, W, 3)`` uint8.
        palette: At most 255 colors.
        path: Of the mask, for messages.

    Returns:
        ``(H, W)`` uint8.
    """
    codes = _color_codes(colors)
    known = _color_codes(np.asarray(palette, np.uint8))
    order = np.argsort(known, kind='stable')
    place = np.searchsorted(known[order], codes).clip(max=len(known) - 1)
    values = order[place]
    unknown = known[values] != codes
    if unknown.any():
        found = tuple(colors[unknown][0].tolist())
        raise ValueError(
            f'mask {path} holds the color {found}, which mask_palette does '
            'not have: add it, and name its position in label_map or '
            'ignore_values'
        )
    return values.astype(np.uint8)


def _color_codes(colors: np.ndarray) -> np.ndarray:
    """Return one integer for each color."""
    red, green, blue = np.moveaxis(colors.astype(np.int64), -1, 0)
    return (red << 16) | (green << 8) | blue


def check_palette(palette: Palette | None) -> None:
    """Raise unless a palette of masks is a list of colors."""
    if palette is None:
        return
    found = np.asarray(palette, dtype=object)
    fits = found.ndim == 2 and found.shape[1] == 3 and len(found) <= 255
    if not fits or not all(c in range(256) for c in found.flat):
        raise ValueError(
            f'mask_palette is {str(palette)[:60]}, expected a list of at most '
            '255 colors [red, green, blue], that of value 0 first'
        )
    if len({*map(tuple, found)}) < len(found):
        raise ValueError('mask_palette has a color twice: keep it once')


@contextmanager
def open_mask(
    file: str | BinaryIO, path: str, has_colors: bool = False
) -> Iterator[Image.Image]:
    """Open a mask whose pixels are label values.

    Args:
        file: The file, or its path.
        path: Its path, for messages.
        has_colors: Whether its pixels may be colors.

    Yields:
        A picture of one 8-bit channel: gray (mode L) or palette (mode P).
    """
    try:
        with Image.open(file) as mask:
            check_pixels(mask, path, has_colors)
            mask.load()
            yield mask
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError) as error:
        raise ValueError(
            f'mask {path} cannot be decoded ({error}): restore the file'
        ) from None


def check_pixels(
    mask: Image.Image, path: str, has_colors: bool = False
) -> None:
    """Raise unless Pillow will give the values as they are in the file."""
    kind = mask.mode
    if has_colors and kind in ('RGB', 'RGBA', 'P'):
        return
    # Pillow scales gray values of 2 and 4 bits to 8; the raw mode tells.
    tiles = getattr(mask, 'tile', None) or [(None, None, None, None)]
    raw = tiles[0][3]
    if kind == 'P' or (kind == 'L' and raw in ('L', None)):
        return
    kind = raw if kind == 'L' else kind
    raise ValueError(
        f'mask {path} has pixels of kind {kind}, expected one 8-bit channel '
        '(Pillow mode L or P) whose values are labels: give the colors of '
        'the values as continual.mask_palette (NAME=#804080 for '
        'tools/new_config.py), or save as 8-bit PNG'
    )
