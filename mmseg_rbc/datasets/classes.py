"""Names, colors and label values of the classes of a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmseg_rbc.class_orders import duplicates
from mmseg_rbc.tasks import IGNORE_INDEX


def class_names(
    classes: Sequence[str] | None,
) -> tuple[list[str], dict[int, int]]:
    """Return class names by id, and the class id of every mask value."""
    if not classes:
        raise ValueError(
            'metainfo.classes is missing: list the class names in the order '
            'of the label values in the masks'
        )
    is_list = isinstance(classes, (list, tuple))
    if not is_list or not all(isinstance(name, str) for name in classes):
        raise ValueError(
            f'metainfo.classes is {classes!r}, expected a list of names, such '
            'as ["background", "cat"]'
        )
    first = 0 if classes[0].lower() == 'background' else 1
    names = ['background'] * first + list(classes)
    twice = duplicates(names)
    if twice:
        raise ValueError(
            f'class {twice[0]!r} stands more than once in metainfo.classes '
            '(background may only be first): every label value needs a name '
            'of its own'
        )
    return names, {v: v + first for v in range(len(classes))}


def class_colors(
    palette: Sequence | None, classes: Sequence[str]
) -> list[list[int]]:
    """Return the color of every class id."""
    if not palette:
        return make_palette(len(classes))
    colors = [list(color) for color in palette]
    if len(colors) == len(classes) - 1:
        colors.insert(0, [0, 0, 0])
    if len(colors) != len(classes):
        raise ValueError(
            f'metainfo.palette has {len(colors)} colors, but there are '
            f'{len(classes)} classes with background'
        )
    return colors


def check_label_values(
    by_value: np.ndarray, known: Sequence[int], paths: Sequence[str]
) -> None:
    """Raise for the first mask that holds a value which no class has.

    Args:
        by_value: ``(masks, 256)`` bool: the class index.
        known: Label values of the data set.
        paths: The masks.
    """
    unknown = by_value.copy()
    unknown[:, list(known)] = False
    if not unknown.any():
        return
    row = int(unknown.any(1).argmax())
    found = np.flatnonzero(unknown[row]).tolist()
    raise ValueError(unknown_label_sentence(paths[row], found, known))


def unknown_label_sentence(
    path: str, found: Sequence[int], known: Sequence[int]
) -> str:
    """Say that a mask holds label values which no class has."""
    last = max(v for v in known if v != IGNORE_INDEX)
    return (
        f'mask {path} holds the unknown label value'
        f'{"s" if len(found) > 1 else ""} {", ".join(map(str, found[:5]))}'
        f'{" ..." if len(found) > 5 else ""}, expected {min(known)} to {last} '
        f'or {IGNORE_INDEX} (ignore): add the class to metainfo.classes or '
        'correct the mask'
    )


def make_palette(num_classes: int) -> list[list[int]]:
    """Return the colors that PASCAL VOC gives to its classes.

    Bit ``3 j + c`` of the class id is bit ``7 - j`` of channel ``c``.
    """
    ids = np.arange(num_classes)[:, None]
    colors = sum(
        ((ids >> (3 * j + np.arange(3))) & 1) << (7 - j) for j in range(3)
    )
    return np.asarray(colors).tolist()
