"""Images in which only new classes are labeled: find, count, split."""

from __future__ import annotations

import os
import os.path as osp
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmseg_rbc.tasks import IGNORE_INDEX

from .masks import read_mask
from .readable import pair_problem

IMAGE_SUFFIXES = ('.jpg', '.jpeg', '.png', '.bmp', '.tif', '.tiff', '.webp')


@dataclass
class NewImages:
    """Images and masks of new classes.

    Attributes:
        images: Folder of the images.
        masks: Folder of the masks.
        names: Names without suffix, sorted.
        img_suffix: The suffix of all images.
        seg_map_suffix: That of all masks.
        pixels: ``(len(names), 256)`` pixels of every value in every mask.
        classes: Value of every new class in the masks.
        unlabeled: Values of pixels that are none of the new classes.
        void: Values of pixels to ignore, beside 255.
    """

    images: str
    masks: str
    names: list[str]
    img_suffix: str
    seg_map_suffix: str
    pixels: np.ndarray
    classes: Mapping[str, int]
    unlabeled: Sequence[int]
    void: Sequence[int]

    def image(self, i: int) -> str:
        """Return the path of an image."""
        return osp.join(self.images, self.names[i] + self.img_suffix)

    def labels(self, i: int) -> np.ndarray:
        """Return the ``(H, W)`` values of a mask."""
        path = osp.join(self.masks, self.names[i] + self.seg_map_suffix)
        return read_mask(path, path)

    def dataset(self, ann_file: str) -> dict[str, Any]:
        """Return the config of the data set of a list of them."""
        return dict(
            type='AddedClassesDataset',
            data_prefix=dict(img_path=self.images, seg_map_path=self.masks),
            img_suffix=self.img_suffix,
            seg_map_suffix=self.seg_map_suffix,
            values=[[name, value] for name, value in self.classes.items()],
            unlabeled=list(self.unlabeled),
            void=list(self.void),
            ann_file=ann_file,
        )

    def split(self, share: float, seed: int) -> tuple[list[int], list[int]]:
        """Return positions of images to train on, and of held-out ones.

        Images without a new class are in neither.

        Args:
            share: Of the images that is held out, at least one of them.
            seed: Which ones.
        """
        if not 0 <= share <= 1 or not 0 <= seed < 2**32:
            raise ValueError(
                f'--val-split {share} --seed {seed}: expected a share from 0 '
                'to 1 and a whole number of at least 0'
            )
        values = list(self.classes.values())
        shown = np.flatnonzero(self.pixels[:, values].any(1))
        count = max(1, round(share * len(shown))) if share else 0
        if count >= len(shown):
            raise ValueError(
                f'{len(shown)} of the {len(self.names)} images in '
                f'{self.images} show a new class, of which {count} are held '
                'out: give more images, or a smaller --val-split'
            )
        order = np.random.RandomState(seed).permutation(shown)
        return sorted(order[count:].tolist()), sorted(order[:count].tolist())


def find_new_images(
    images: str,
    masks: str,
    classes: Mapping[str, int],
    unlabeled: Sequence[int] = (0,),
    void: Sequence[int] = (IGNORE_INDEX,),
) -> NewImages:
    """Find the images of a folder and their masks, and count their pixels.

    Args:
        images: Folder of the images.
        masks: Folder of the masks, which have the names of the images.
        classes: Value of every new class in the masks.
        unlabeled: Values of pixels that are none of the new classes.
        void: Values of pixels to ignore, beside 255.
    """
    names, img_suffix = _files(images, 'images')
    mask_names, seg_map_suffix = _files(masks, 'masks')
    missing = [name for name in names if name not in set(mask_names)]
    if missing:
        raise FileNotFoundError(
            f'image {missing[0]}{img_suffix} has no mask '
            f'{missing[0]}{seg_map_suffix} in {masks} ({len(missing)} of '
            f'{len(names)} images have none): give each image a mask of its '
            'name'
        )
    paths = [osp.join(masks, name + seg_map_suffix) for name in names]
    for name, path in zip(names, paths):
        problem = pair_problem(osp.join(images, name + img_suffix), path)
        if problem:
            raise ValueError(problem)
    labels = (read_mask(path, path) for path in paths)
    counts = [np.bincount(each.ravel(), minlength=256) for each in labels]
    found = NewImages(
        osp.abspath(images),
        osp.abspath(masks),
        names,
        img_suffix,
        seg_map_suffix,
        np.stack(counts),
        classes,
        unlabeled,
        void,
    )
    _check_values(found)
    return found


def _files(folder: str, what: str) -> tuple[list[str], str]:
    """Return the names of pictures without suffix, and their suffix."""
    found = sorted(os.listdir(folder)) if osp.isdir(folder) else []
    parts = [osp.splitext(name) for name in found]
    parts = [part for part in parts if part[1].lower() in IMAGE_SUFFIXES]
    suffixes = sorted({suffix for _, suffix in parts})
    if len(suffixes) != 1:
        raise FileNotFoundError(
            f'--{what}: {folder} holds pictures of '
            f'{len(suffixes)} kinds{" (" * bool(suffixes)}'
            f'{", ".join(suffixes)}{")" * bool(suffixes)}, expected a folder '
            'with pictures of one kind, such as .png'
        )
    return [name for name, _ in parts], suffixes[0]


def _check_values(found: NewImages) -> None:
    """Raise unless the masks hold all new classes, and nothing unknown."""
    total = found.pixels.sum(0)
    new = list(found.classes.values())
    taken = {*found.unlabeled, *found.void, IGNORE_INDEX}
    for name, value in found.classes.items():
        if new.count(value) > 1 or value in taken:
            raise ValueError(
                f'value {value} of the new class {name!r} is in --classes '
                'again, or in --unlabeled or --void: a value means one thing'
            )
    known = {*new, *found.unlabeled, *found.void, IGNORE_INDEX}
    others = [int(v) for v in np.flatnonzero(total) if v not in known]
    if others:
        raise ValueError(
            f'the masks in {found.masks} hold '
            f'{", ".join(map(str, others[:5]))}, expected '
            f'{", ".join(map(str, sorted(known)))}: name each value in '
            '--classes, --unlabeled (none of the new classes) or --void'
        )
    for name, value in found.classes.items():
        if not total[value]:
            seen = np.flatnonzero(total).tolist()
            raise ValueError(
                f'no mask in {found.masks} holds value {value} of the new '
                f'class {name!r}, only {", ".join(map(str, seen))}: correct '
                '--classes NAME=VALUE'
            )
