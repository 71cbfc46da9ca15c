"""Find images and their masks in folders, by their names."""

from __future__ import annotations

import os
import os.path as osp

IMAGES = ('.jpg', '.jpeg', '.png', '.bmp', '.tif', '.tiff', '.webp')


def find_pairs(images: str, masks: str) -> tuple[list[str], str, str]:
    """Return names without suffix, and the suffixes of images and masks."""
    found, others = list_files(images), list_files(masks)
    if not found or not others:
        empty = images if not found else masks
        raise ValueError(f'{empty} holds no image ({", ".join(IMAGES)})')
    start = max(
        (osp.commonprefix([found[0], other]) for other in others), key=len
    )
    start = start.rstrip('._-')
    twins = [name for name in others if name.startswith(start)]
    twin = min(twins, key=len)
    ends = found[0][len(start) :], twin[len(start) :]
    names = [n[: -len(ends[0])] for n in found if n.endswith(ends[0])]
    alone = [name for name in names if name + ends[1] not in {*others}]
    if alone or not start:
        raise ValueError(
            f'image {(alone or [found[0]])[0]}{ends[0]} of {images} has no '
            f'mask {(alone or [""])[0]}{ends[1]} in {masks}: masks must be '
            'named like their images, but for the end'
        )
    return names, ends[0], ends[1]


def list_files(folder: str) -> list[str]:
    """Return the pictures below a folder, relative to it."""
    if not osp.isdir(folder):
        raise FileNotFoundError(f'folder {folder} does not exist')
    found = [
        osp.relpath(osp.join(place, name), folder)
        for place, folders, names in os.walk(folder)
        for name in names
        if name.lower().endswith(IMAGES) and '.mmseg_rbc' not in place
    ]
    return sorted(found)
