"""Reduce VOC 2012 to small images, for experiments on a CPU.

Reads JPEGImages and SegmentationClassAug (all masks of trainaug and val) and
writes the same folders, the longer side 128 pixels, with the image lists.
"""

import argparse
import multiprocessing
import os
import os.path as osp
from functools import partial

from PIL import Image

# Folder, ending and filter: labels must not be mixed.
KINDS = (
    ('JPEGImages', '.jpg', Image.Resampling.LANCZOS),
    ('SegmentationClassAug', '.png', Image.Resampling.NEAREST),
)
LISTS = dict(train_aug='trainaug', val='val')


def reduce_pair(name: str, source: str, target: str, size: int) -> None:
    """Write the small image and mask of one name."""
    for folder, ending, resample in KINDS:
        path = osp.join(folder, name + ending)
        with Image.open(osp.join(source, path)) as image:
            scale = size / max(image.size)
            width, height = (max(round(s * scale), 1) for s in image.size)
            small = image.resize((width, height), resample)
        small.save(osp.join(target, path))


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('voc_root', help='such as data/VOCdevkit/VOC2012')
    parser.add_argument('out', help='such as data/voc12_aug128')
    parser.add_argument(
        '--size',
        type=int,
        default=128,
        help='longer side in pixels (default: %(default)s)',
    )
    parser.add_argument(
        '--workers',
        type=int,
        default=os.cpu_count(),
        help='processes (default: one for each core)',
    )
    return parser.parse_args()


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.datasets.class_index import shipped_names
    from mmseg_rbc.utils.files import check_files
    from mmseg_rbc.utils.progress import track

    names = {file: shipped_names(split) for file, split in LISTS.items()}
    every = [name for listed in names.values() for name in listed]
    try:
        for folder, ending, _ in KINDS:
            paths = [
                osp.join(args.voc_root, folder, n + ending) for n in every
            ]
            what = 'image' if ending == '.jpg' else 'mask'
            check_files(paths, what, 'VOC 2012 trainaug and val')
    except FileNotFoundError as error:
        raise SystemExit(str(error)) from None
    lists = osp.join(args.out, 'ImageSets', 'Segmentation')
    for folder in (lists, *(osp.join(args.out, kind[0]) for kind in KINDS)):
        os.makedirs(folder, exist_ok=True)
    work = partial(
        reduce_pair, source=args.voc_root, target=args.out, size=args.size
    )
    with multiprocessing.Pool(args.workers) as pool:
        done = pool.imap_unordered(work, every, chunksize=32)
        for _ in track(done, 'reducing images', len(every)):
            pass
    for file, listed in names.items():
        with open(osp.join(lists, f'{file}.txt'), 'w') as out:
            out.writelines(name + '\n' for name in listed)
    print(f'wrote {len(every)} images to {args.out}')


if __name__ == '__main__':
    main()
