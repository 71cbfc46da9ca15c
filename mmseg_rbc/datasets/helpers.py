"""Small functions about classes, colours and files of a data set."""

from __future__ import annotations

import os
import os.path as osp
from collections.abc import Sequence

import numpy as np

from mmseg_rbc.tasks import IGNORE_INDEX, duplicates


def class_names(
    classes: Sequence[str] | None,
) -> tuple[list[str], dict[int, int]]:
    """Return class names by id, and the class id of every mask value."""
    if not classes:
        raise ValueError(
            'metainfo.classes is missing: list the class names in the order '
            'of the label values in the masks'
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


def class_colours(
    palette: Sequence | None, classes: Sequence[str]
) -> list[list[int]]:
    """Return the colour of every class id."""
    if not palette:
        return make_palette(len(classes))
    colours = [list(colour) for colour in palette]
    if len(colours) == len(classes) - 1:
        colours.insert(0, [0, 0, 0])
    if len(colours) != len(classes):
        raise ValueError(
            f'metainfo.palette has {len(colours)} colours, but there are '
            f'{len(classes)} classes with background'
        )
    return colours


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


def missing_files(paths: Sequence[str]) -> list[str]:
    """Return the paths that do not exist, with one listing per folder."""
    parts = [osp.split(path) for path in paths]
    present = {
        folder: set(os.listdir(folder)) if osp.isdir(folder) else set()
        for folder in {folder for folder, _ in parts}
    }
    return [
        path
        for path, (folder, name) in zip(paths, parts)
        if name not in present[folder]
    ]


def make_palette(num_classes: int) -> list[list[int]]:
    """Return the colours that PASCAL VOC gives to its classes.

    Bit ``3 j + c`` of the class id is bit ``7 - j`` of channel ``c``.
    """
    ids = np.arange(num_classes)[:, None]
    colours = sum(
        ((ids >> (3 * j + np.arange(3))) & 1) << (7 - j) for j in range(3)
    )
    return np.asarray(colours).tolist()
