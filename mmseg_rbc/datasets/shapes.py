"""A small synthetic data set in VOC layout, with biased context.

Twenty classes, each a form with a texture and a hue, on five kinds of ground.
Task 15-1 begins with every form and every texture; its new classes combine
them anew.
Context co-occurs as in photographs: every class has a ground it prefers and a
partner that is mostly beside it. The partners are (1, 11) ... (10, 20), so in
task 15-1 each new class arrives beside an old one.
"""

from __future__ import annotations

import os.path as osp
from typing import Callable

import cv2
import numpy as np
from mmengine.utils import mkdir_or_exist
from PIL import Image

from mmseg_rbc.tasks import IGNORE_INDEX
from mmseg_rbc.utils.progress import track

from .classes import make_palette

FORMS = ('disk', 'square', 'triangle', 'star', 'cross')
TEXTURES = ('plain', 'striped', 'checked', 'dotted')
NUM_CLASSES = len(FORMS) * len(TEXTURES)
CLASSES = (
    'background',
    *(f'{TEXTURES[i % 4]} {FORMS[i % 5]}' for i in range(NUM_CLASSES)),
)

PARTNER_RATE = 0.7
EXTRA_RATE = 0.3
HOME_RATE = 0.85
# Two colors (blue, green, red) that each kind of ground mixes.
GROUNDS = np.array(
    [
        [(60, 120, 70), (40, 80, 50)],
        [(150, 190, 210), (120, 160, 190)],
        [(150, 110, 60), (110, 70, 30)],
        [(70, 60, 60), (40, 30, 30)],
        [(190, 190, 190), (150, 150, 160)],
    ],
    np.float32,
)


def make_shapes(
    root: str,
    num_train: int = 160,
    num_val: int = 40,
    size: tuple[int, int] = (96, 128),
    seed: int = 0,
) -> None:
    """Write the data set; the same arguments give the same pixels.

    Args:
        root: See :func:`write_scenes`.
        num_train: Training images.
        num_val: Validation images.
        size: Height and width.
        seed: Seed; image i depends on nothing but ``(seed, i)`` and the size.
    """

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([seed, number])
        return draw_scene(rng, number, size)

    write_scenes(root, num_train, num_val, draw)


def write_scenes(
    root: str,
    num_train: int,
    num_val: int,
    draw: Callable[[int], tuple[np.ndarray, np.ndarray]],
) -> None:
    """Write images and masks in VOC layout.

    Args:
        root: Folder that gets ``JPEGImages``, ``SegmentationClassAug`` and
            ``ImageSets/Segmentation/{trainaug,val}.txt``.
        num_train: Training images; the first ones.
        num_val: Validation images.
        draw: Returns image and labels by the number of the image, see
            :func:`draw_scene`.
    """
    folders = [
        osp.join(root, name)
        for name in (
            'JPEGImages',
            'SegmentationClassAug',
            'ImageSets/Segmentation',
        )
    ]
    for folder in folders:
        mkdir_or_exist(folder)
    names = [f'shapes_{i:06d}' for i in range(num_train + num_val)]
    colors = np.array(make_palette(256), np.uint8).ravel().tolist()
    for i in track(range(len(names)), 'drawing shapes', len(names)):
        image, labels = draw(i)
        jpeg = osp.join(folders[0], names[i] + '.jpg')
        cv2.imwrite(jpeg, image, [cv2.IMWRITE_JPEG_QUALITY, 95])
        mask = Image.fromarray(labels)
        mask.putpalette(colors)
        mask.save(osp.join(folders[1], names[i] + '.png'))
    lists = dict(trainaug=names[:num_train], val=names[num_train:])
    for split, members in lists.items():
        with open(osp.join(folders[2], split + '.txt'), 'w') as file:
            file.writelines(name + '\n' for name in members)


def draw_scene(
    rng: np.random.Generator, number: int, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw one image around class ``number % 20 + 1``.

    Returns:
        ``(H, W, 3)`` uint8 image (blue, green, red) and ``(H, W)`` uint8
        labels with void (255) around every object.
    """
    classes = _draw_classes(rng, number % NUM_CLASSES + 1)
    kind = classes[0] % len(GROUNDS)
    if rng.random() >= HOME_RATE:
        kind = int(rng.integers(len(GROUNDS)))
    image = draw_ground(rng, kind, size)
    labels = np.zeros(size, np.uint8)
    for class_id in classes:
        radius = rng.uniform(0.18, 0.3) * min(size)
        center = rng.uniform(radius, np.array(size[::-1]) - radius)
        texture, form = CLASSES[class_id].split()
        hue = 180 / NUM_CLASSES * (class_id * 7 % NUM_CLASSES)
        silhouette = draw_form(rng, form, center, radius, size)
        skin = draw_skin(rng, texture, hue, 220, size)
        paint(image, labels, silhouette, skin, class_id)
    image += rng.normal(0, 8, image.shape)
    return image.clip(0, 255).astype(np.uint8), labels


def paint(
    image: np.ndarray,
    labels: np.ndarray,
    silhouette: np.ndarray,
    skin: np.ndarray,
    class_id: int,
) -> None:
    """Put an object into image and labels, with void (255) around it."""
    inside = silhouette > 0
    image[inside] = skin[inside]
    kernel = np.ones((3, 3), np.uint8)
    edge = cv2.morphologyEx(silhouette, cv2.MORPH_GRADIENT, kernel) > 0
    labels[inside] = class_id
    labels[edge] = IGNORE_INDEX


def _draw_classes(rng: np.random.Generator, first: int) -> list[int]:
    """Return the classes of an image, the first one drawn first."""
    classes = [first]
    if rng.random() < PARTNER_RATE:
        classes.append((first + 9) % NUM_CLASSES + 1)
    if rng.random() < EXTRA_RATE:
        classes.append(int(rng.integers(1, NUM_CLASSES + 1)))
    return classes


def draw_ground(
    rng: np.random.Generator, kind: int, size: tuple[int, int]
) -> np.ndarray:
    """Return a cloudy ``(H, W, 3)`` float ground in two colors."""
    coarse = rng.random((6, 8), np.float32)
    mix = cv2.resize(coarse, size[::-1], interpolation=cv2.INTER_CUBIC)
    light, dark = GROUNDS[kind]
    return light + np.clip(mix, 0, 1)[..., None] * (dark - light)


def draw_form(
    rng: np.random.Generator,
    form: str,
    center: np.ndarray,
    radius: float,
    size: tuple[int, int],
) -> np.ndarray:
    """Return a ``(H, W)`` uint8 silhouette around (x, y): 255 inside."""
    canvas = np.zeros(size, np.uint8)
    if form == 'disk':
        middle = tuple(int(c) for c in np.rint(center))
        cv2.circle(canvas, middle, round(radius), 255, -1)
        return canvas
    angles, radii = _corners(form)
    angles = angles + rng.uniform(-0.3, 0.3)
    offsets = np.stack([np.sin(angles), -np.cos(angles)], 1)
    corners = center + radius * radii[:, None] * offsets
    cv2.fillPoly(canvas, [np.rint(corners).astype(np.int32)], 255)
    return canvas


def _corners(form: str) -> tuple[np.ndarray, np.ndarray]:
    """Return angles and radii of a polygon inside the unit circle."""
    if form == 'star':
        return np.arange(10) * np.pi / 5, np.tile([1, 0.45], 5)
    if form == 'cross':
        turns = np.arange(4)[:, None] * np.pi / 2
        angles = turns + np.array([-0.34, 0.34, np.pi / 4])
        return angles.ravel(), np.tile([1, 1, 0.47], 4)
    count = dict(square=4, triangle=3)[form]
    return np.arange(count) * 2 * np.pi / count + np.pi / 4, np.ones(count)


def draw_skin(
    rng: np.random.Generator,
    texture: str,
    hue: float,
    saturation: float,
    size: tuple[int, int],
) -> np.ndarray:
    """Return a ``(H, W, 3)`` float texture about a hue (0 to 180)."""
    y, x = np.mgrid[: size[0], : size[1]] + rng.uniform(0, 8, (2, 1, 1))
    period = rng.uniform(6, 9)
    dark = {
        'plain': np.zeros(size, bool),
        'striped': (x + y) % period < period / 2,
        'checked': (x % period < period / 2) ^ (y % period < period / 2),
        'dotted': np.hypot(x % period - period / 2, y % period - period / 2)
        < period / 4,
    }[texture]
    hue = (hue + rng.uniform(-2, 2)) % 180
    value = rng.uniform(190, 250)
    pair = [[hue, saturation, value], [hue, saturation, 0.45 * value]]
    colors = cv2.cvtColor(np.array([pair], np.uint8), cv2.COLOR_HSV2BGR)[0]
    return colors.astype(np.float32)[dark.astype(int)]
