"""Shapes that only their neighbors tell apart, in VOC layout.

A gray square beside a striped disk is another class than the same gray square
beside a dotted disk: the object itself says nothing, the marker decides. The
images of the later steps show such old twins beside a new class, where the
marker is small and the new object large. With ``bias`` a new class stands
beside the twins of one marker only, so that it tells as much as the marker
does, and a network may come to rely on it; without, it tells nothing. In the
validation images old and new classes are apart.

For ``task='10-1', setting='disjoint'``: step 0 has the markers and the twins,
each later step one new class.
"""

from __future__ import annotations

import numpy as np

from .shapes import draw_form, draw_ground, draw_skin, paint, write_scenes

MARKERS = ('striped disk', 'dotted disk')
TWINS = ('square', 'triangle', 'star', 'cross')
NEW = ('checked disk', 'checked square', 'checked star')
CLASSES = (
    'background',
    *MARKERS,
    *(f'{form} by {marker}' for form in TWINS for marker in MARKERS),
    *NEW,
)
SIZE = (96, 96)
# Of the training images; the others are those of the new classes.
BASE_RATE = 0.6
# Radii as parts of the cell that an object gets: a half of each side.
LARGE = (0.3, 0.45)
SMALL = (0.13, 0.18)
HUES = (15, 105, 60, 135, 165)


def make_context_shapes(
    root: str, num_train: int, num_val: int, bias: bool, seed: int = 0
) -> None:
    """Write the data set; the same arguments give the same pixels.

    Args:
        root: See :func:`.write_scenes`.
        num_train: Training images.
        num_val: Validation images.
        bias: Whether a new class stands beside the twins of one marker only.
        seed: Seed; image i depends on nothing but ``(seed, i)`` and whether
            it is for training.
    """

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([seed, number])
        if number < num_train:
            objects = _training_objects(rng, number, bias)
        else:
            objects = _validation_objects(rng, number)
        return draw_objects(rng, objects)

    write_scenes(root, num_train, num_val, draw)


def twin(form: int, marker: int) -> int:
    """Return the class of a gray form beside a marker."""
    return 1 + len(MARKERS) + form * len(MARKERS) + marker


def _training_objects(
    rng: np.random.Generator, number: int, bias: bool
) -> list[tuple[int, tuple[float, float]]]:
    """Return classes and ranges of their radii."""
    if rng.random() < BASE_RATE:
        return _old_objects(rng, int(rng.integers(len(MARKERS))))
    new = number % len(NEW)
    marker = int(rng.integers(len(MARKERS)))
    if bias:
        marker = new % len(MARKERS)
    form = int(rng.integers(len(TWINS)))
    return [
        (twin(form, marker), LARGE),
        (1 + marker, SMALL),
        (len(CLASSES) - len(NEW) + new, LARGE),
    ]


def _validation_objects(
    rng: np.random.Generator, number: int
) -> list[tuple[int, tuple[float, float]]]:
    """Return old classes alone, or a new one alone in a quarter of images."""
    if number % 4 == 0:
        new = number // 4 % len(NEW)
        return [(len(CLASSES) - len(NEW) + new, LARGE)]
    return _old_objects(rng, number % len(MARKERS))


def _old_objects(
    rng: np.random.Generator, marker: int
) -> list[tuple[int, tuple[float, float]]]:
    """Return two different twins and their marker."""
    forms = rng.permutation(len(TWINS))[:2]
    twins = [(twin(int(form), marker), LARGE) for form in forms]
    return [*twins, (1 + marker, LARGE)]


def draw_objects(
    rng: np.random.Generator,
    objects: list[tuple[int, tuple[float, float]]],
) -> tuple[np.ndarray, np.ndarray]:
    """Draw up to four objects, each in its own quarter of the image.

    Returns:
        See :func:`.draw_scene`.
    """
    image = draw_ground(rng, int(rng.integers(5)), SIZE)
    labels = np.zeros(SIZE, np.uint8)
    cell = SIZE[0] / 2
    for (class_id, radii), place in zip(objects, rng.permutation(4)):
        radius = rng.uniform(*radii) * cell
        corner = cell * np.array([place % 2, place // 2])
        center = corner + rng.uniform(radius, cell - radius, 2)
        form, texture, hue, saturation = _look(class_id)
        silhouette = draw_form(rng, form, center, radius, SIZE)
        skin = draw_skin(rng, texture, hue, saturation, SIZE)
        paint(image, labels, silhouette, skin, class_id)
    image += rng.normal(0, 8, image.shape)
    return image.clip(0, 255).astype(np.uint8), labels


def _look(class_id: int) -> tuple[str, str, float, float]:
    """Return form, texture, hue and saturation; twins have the same."""
    first_twin, first_new = 1 + len(MARKERS), len(CLASSES) - len(NEW)
    if first_twin <= class_id < first_new:
        form = TWINS[(class_id - first_twin) // len(MARKERS)]
        return form, 'plain', 0, 0
    colored = [*range(1, first_twin), *range(first_new, len(CLASSES))]
    texture, form = CLASSES[class_id].split()
    return form, texture, HUES[colored.index(class_id)], 220
