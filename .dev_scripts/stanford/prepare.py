"""Halve the Stanford Background set, and hold one of its classes out.

python .dev_scripts/stanford/prepare.py data/stanford_bg data/half_grass grass

Every fifth image is for evaluation. Of the others, those without the class are
the old images (stock.txt), those with it the new ones (new/), in whose masks
only it is labeled: 1, everything else 0, void 255.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = (
    'sky',
    'tree',
    'road',
    'grass',
    'water',
    'building',
    'mountain',
    'foreground',
)
VOID = 255


def main(source: Path, target: Path, name: str) -> None:
    """Write images, three kinds of masks, and lists of names."""
    # Seven classes in their order, the new one behind them.
    new = CLASSES.index(name)
    order = [value for value in range(8) if value != new]
    tables = {kind: np.full(256, VOID, np.uint8) for kind in KINDS}
    for label, value in enumerate(order):
        tables['masks_stock'][value] = tables['masks_all'][value] = label
        tables['new/masks'][value] = 0
    tables['masks_all'][new], tables['new/masks'][new] = 7, 1
    for folder in ('images', 'new/images', *KINDS):
        (target / folder).mkdir(parents=True, exist_ok=True)
    lists: dict[str, list[str]] = dict(train=[], stock=[], new=[], val=[])
    for i, path in enumerate(sorted((source / 'images').glob('*.jpg'))):
        image, mask = _half(source, path.stem)
        is_new = bool((np.asarray(mask) == new).any())
        names = ['val'] if i % 5 == 4 else ['train', 'stock']
        if names[-1] == 'stock' and is_new:
            names[-1] = 'new'
        for part in names:
            lists[part].append(path.stem)
        for kind, table in tables.items():
            if kind != 'new/masks' or names[-1] == 'new':
                labels = Image.fromarray(table[np.asarray(mask)])
                labels.save(target / kind / f'{path.stem}.png')
        for folder in ('images', *['new/images'] * (names[-1] == 'new')):
            image.save(target / folder / path.name, quality=95)
    for part, stems in lists.items():
        (target / f'{part}.txt').write_text('\n'.join(stems) + '\n')
        print(part, len(stems))


KINDS = ('masks_stock', 'masks_all', 'new/masks')


def _half(source: Path, stem: str) -> tuple[Image.Image, Image.Image]:
    image = Image.open(source / 'images' / f'{stem}.jpg')
    mask = Image.open(source / 'masks' / f'{stem}.png')
    size = (image.width // 2, image.height // 2)
    return (
        image.resize(size, Image.Resampling.BILINEAR),
        mask.resize(size, Image.Resampling.NEAREST),
    )


if __name__ == '__main__':
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
