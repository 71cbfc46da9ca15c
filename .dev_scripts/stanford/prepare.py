"""Halve the Stanford Background set, and hold its class "water" out.

python .dev_scripts/stanford/prepare.py data/stanford_bg data/stanford_half

Every fifth image is for evaluation. Of the others, those without water are
the old images (stock.txt), those with water the new ones (new/), in whose
masks only water is labeled: 1, everything else 0, void 255.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

WATER, VOID = 4, 255


def main(source: Path, target: Path) -> None:
    """Write images, three kinds of masks, and lists of names."""
    # Seven classes in their order, water behind them.
    order = [value for value in range(8) if value != WATER]
    tables = {name: np.full(256, VOID, np.uint8) for name in KINDS}
    for label, value in enumerate(order):
        tables['masks_stock'][value] = tables['masks_all'][value] = label
        tables['new/masks'][value] = 0
    tables['masks_all'][WATER], tables['new/masks'][WATER] = 7, 1
    for folder in ('images', 'new/images', *KINDS):
        (target / folder).mkdir(parents=True, exist_ok=True)
    lists: dict[str, list[str]] = dict(train=[], stock=[], new=[], val=[])
    for i, path in enumerate(sorted((source / 'images').glob('*.jpg'))):
        image, mask = _half(source, path.stem)
        has_water = bool((np.asarray(mask) == WATER).any())
        names = ['val'] if i % 5 == 4 else ['train', 'stock']
        if names[-1] == 'stock' and has_water:
            names[-1] = 'new'
        for name in names:
            lists[name].append(path.stem)
        for kind, table in tables.items():
            if kind != 'new/masks' or names[-1] == 'new':
                labels = Image.fromarray(table[np.asarray(mask)])
                labels.save(target / kind / f'{path.stem}.png')
        for folder in ('images', *['new/images'] * (names[-1] == 'new')):
            image.save(target / folder / path.name, quality=95)
    for name, stems in lists.items():
        (target / f'{name}.txt').write_text('\n'.join(stems) + '\n')
        print(name, len(stems))


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
    main(Path(sys.argv[1]), Path(sys.argv[2]))
