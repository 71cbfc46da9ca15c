"""Names, colors and label values of the classes of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from mmengine.logging import print_log

from mmseg_rbc.class_orders import duplicates
from mmseg_rbc.tasks import IGNORE_INDEX, NOT_LEARNED, is_background
from mmseg_rbc.utils.keys import nearest


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
    first = 0 if is_background(classes[0]) else 1
    names = [NOT_LEARNED] * first + list(classes)
    twice = duplicates(names)
    twice += [name for name in names[1:] if name.lower() == 'background']
    if twice:
        raise ValueError(
            f'class {twice[0]!r} stands more than once in metainfo.classes '
            '(background may only be first): every label value needs a name '
            'of its own'
        )
    return names, {v: v + first for v in range(len(classes))}


def map_values(
    names: Sequence[str],
    class_ids: Mapping[int, int],
    label_map: Mapping[int, str],
    ignore_values: Sequence[int],
) -> dict[int, int]:
    """Apply the settings of a data set to what its class names say.

    Args:
        names: Class names by id.
        class_ids: Class id of mask values, by the positions of the names.
        label_map: Class names of mask values. A class that is named here has
            these values only.
        ignore_values: Mask values that no class may have.

    Returns:
        Class id of mask values.
    """
    _check_kinds(label_map, ignore_values)
    ids = {name: i for i, name in enumerate(names)}
    given = {_value(v, 'label_map'): label_map[v] for v in label_map}
    for value, name in given.items():
        if name not in ids:
            raise ValueError(
                f'label_map names the class {name!r} for value {value}, which '
                f'is not in metainfo.classes{nearest(name, names)}'
            )
    named = {ids[name] for name in given.values()}
    found = {
        value: class_id
        for value, class_id in class_ids.items()
        if class_id not in named and value not in given
    }
    found.update({value: ids[name] for value, name in given.items()})
    for value in ignore_values:
        if _value(value, 'ignore_values') in found:
            raise ValueError(
                f'value {value} is in ignore_values, but it is class '
                f'{names[found[value]]!r} too: give that class its own values '
                'in label_map, such as label_map={7: "car"}'
            )
    lost = [name for name in names[1:] if ids[name] not in found.values()]
    if lost:
        raise ValueError(
            f'no value of the masks is class {lost[0]!r}: label_map gives its '
            'place to another class, so name its values there as well'
        )
    if found.get(0) == 1:
        _say_no_background(names[1])
    return found


def _check_kinds(label_map: object, ignore_values: object) -> None:
    """Raise for settings of another kind."""
    if not isinstance(label_map, Mapping):
        raise ValueError(
            f'label_map is {label_map!r}, expected the class names of mask '
            'values, such as {7: "car", 8: "car"}'
        )
    if not isinstance(ignore_values, Sequence):
        raise ValueError(
            f'ignore_values is {ignore_values!r}, expected a list of mask '
            'values, such as [11]'
        )


@lru_cache
def _say_no_background(name: str) -> None:
    """Say it once, not for every data set of every step."""
    text = f'value 0 of the masks is class {name!r}: no background'
    print_log(text, 'current')


def _value(value: int | str, where: str) -> int:
    """Return a mask value; keys of a command line are text."""
    number = int(value) if str(value).isdecimal() else -1
    if not 0 <= number < IGNORE_INDEX:
        raise ValueError(
            f'{where} names the value {value!r}, expected whole numbers from '
            f'0 to {IGNORE_INDEX - 1} ({IGNORE_INDEX} is always ignored)'
        )
    return number


def by_class(
    by_value: np.ndarray, class_ids: Mapping[int, int], num_classes: int
) -> np.ndarray:
    """Turn a class index by mask value into one by class.

    Args:
        by_value: ``(masks, 256)`` bool.
        class_ids: Class id of mask values.
        num_classes: C.

    Returns:
        ``(masks, C)`` bool.
    """
    index = np.zeros((len(by_value), num_classes), bool)
    for value, class_id in class_ids.items():
        index[:, class_id] |= by_value[:, value]
    return index


def values_of(order: Sequence[int], class_ids: Mapping[int, int]) -> list[int]:
    """Return the smallest mask value of each class, 255 without any."""
    smallest = {class_ids[v]: v for v in sorted(class_ids, reverse=True)}
    return [smallest.get(class_id, IGNORE_INDEX) for class_id in order]


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
        f'or {IGNORE_INDEX} (ignore): add the class to metainfo.classes, name '
        'the value in continual.label_map or continual.ignore_values, or '
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
