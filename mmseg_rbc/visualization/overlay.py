"""Pictures of labels over an image, from arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw

from mmseg_rbc.tasks import IGNORE_INDEX

# Pixels between pictures, and of a line of text.
GAP, LINE = 6, 16


def blend(
    image: np.ndarray,
    labels: np.ndarray,
    palette: np.ndarray,
    opacity: float = 0.6,
) -> np.ndarray:
    """Put class colors over an image; background and void stay clear.

    Args:
        image: ``(H, W, 3)`` uint8 RGB.
        labels: ``(H, W)`` uint8.
        palette: ``(K, 3)`` color of each label.
        opacity: Of the colors.

    Returns:
        ``(H, W, 3)`` uint8 RGB.
    """
    table = np.zeros((256, 3), np.float32)
    table[: len(palette)] = palette
    share = np.full(256, opacity, np.float32)
    share[[0, IGNORE_INDEX]] = 0
    weight = share[labels][..., None]
    mixed = image * (1 - weight) + table[labels] * weight
    return mixed.round().astype(np.uint8)


def draw_overlay(
    image: np.ndarray,
    labels: np.ndarray,
    classes: Sequence[str],
    palette: np.ndarray,
) -> Image.Image:
    """Draw an image and its segmentation side by side, over a legend.

    Args:
        image: See :func:`blend`, as ``labels`` and ``palette``.
        labels: Of the image.
        classes: K names.
        palette: Their colors.
    """
    present = [int(c) for c in np.unique(labels) if c != IGNORE_INDEX]
    height, width = labels.shape
    total = 2 * width + GAP
    legend = draw_legend({classes[c]: palette[c] for c in present}, total)
    blended = blend(image, labels, palette)
    canvas = Image.new('RGB', (total, height + GAP + legend.height), 'white')
    canvas.paste(Image.fromarray(image), (0, 0))
    canvas.paste(Image.fromarray(blended), (width + GAP, 0))
    canvas.paste(legend, (0, height + GAP))
    return canvas


def draw_legend(
    colors: Mapping[str, Sequence[int] | np.ndarray], width: int
) -> Image.Image:
    """Draw colors with their names, in as many lines as needed.

    Args:
        colors: RGB by name.
        width: Of the picture.
    """
    places = _places(colors, width)
    height = max((y for _, y in places), default=0) + LINE
    legend = Image.new('RGB', (width, height), 'white')
    draw = ImageDraw.Draw(legend)
    for (x, y), (name, color) in zip(places, colors.items()):
        box = (x, y + 3, x + 11, y + 13)
        draw.rectangle(box, fill=tuple(map(int, color)), outline='gray')
        draw.text((x + 16, y + 2), name, fill='black')
    return legend


def _places(names: Iterable[str], width: int) -> list[tuple[int, int]]:
    """Return left and top of each name of a legend."""
    draw = ImageDraw.Draw(Image.new('RGB', (1, 1)))
    places, x, y = [], 0, 0
    for name in names:
        size = 18 + math.ceil(draw.textlength(name)) + 10
        if x and x + size > width:
            x, y = 0, y + LINE
        places.append((x, y))
        x += size
    return places
