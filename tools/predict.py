"""Segment an image, or all images of a folder, with a checkpoint of any step.

No config is needed: it is in the checkpoint. For each image it writes
vis/<name>.png (the image, its segmentation and a legend) and pred/<name>.png
(the class indices, which classes.json names).
"""

import argparse
import json
import os
import os.path as osp
import time

import numpy as np
from PIL import Image, ImageOps

import mmseg_rbc  # noqa: F401
from mmseg_rbc.apis import load_network, predict
from mmseg_rbc.reporting.predictions import draw_overlay
from mmseg_rbc.utils.files import write_text

SUFFIXES = ('.jpg', '.jpeg', '.png', '.bmp', '.tif', '.tiff', '.webp')


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('checkpoint', help='checkpoint, such as final.pth')
    parser.add_argument('images', help='an image, or a folder with images')
    parser.add_argument(
        '--out',
        default='predictions',
        help='folder for the results (default: %(default)s)',
    )
    parser.add_argument(
        '--device', default='cpu', help='such as cuda:0 (default: cpu)'
    )
    parser.add_argument(
        '--opacity',
        type=float,
        default=0.6,
        help='of the colors over the image (default: %(default)s)',
    )
    return parser.parse_args()


def find_images(path: str) -> list[str]:
    """Return an image, or the images of a folder."""
    if osp.isfile(path):
        return [path]
    if not osp.isdir(path):
        raise SystemExit(f'{path} does not exist: pass an image or a folder')
    found = sorted(
        osp.join(path, name)
        for name in os.listdir(path)
        if name.lower().endswith(SUFFIXES)
    )
    if not found:
        raise SystemExit(
            f'{path} holds no image ({", ".join(SUFFIXES)}): pass another '
            'folder'
        )
    return found


def result_names(paths: list[str]) -> list[str]:
    """Return the file names of results; a.jpg and a.png stay apart."""
    names = [osp.basename(path) for path in paths]
    stems = [osp.splitext(name)[0] for name in names]
    return [
        f'{stem if stems.count(stem) == 1 else name}.png'
        for stem, name in zip(stems, names)
    ]


def main() -> None:
    """Run the command line."""
    args = parse_args()
    paths = find_images(args.images)
    try:
        model = load_network(args.checkpoint, args.device)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    for folder in ('vis', 'pred'):
        os.makedirs(osp.join(args.out, folder), exist_ok=True)
    classes = list(model.dataset_meta['classes'])
    write_text(
        osp.join(args.out, 'classes.json'),
        json.dumps(dict(enumerate(classes)), indent=2),
    )
    palette = np.array(model.dataset_meta['palette'], np.uint8)
    failed = []
    start = time.monotonic()
    for i, (path, name) in enumerate(zip(paths, result_names(paths)), 1):
        try:
            with Image.open(path) as file:
                upright = ImageOps.exif_transpose(file)
                image = np.array(upright.convert('RGB'))
        except OSError as error:
            failed.append(path)
            print(f'{path} cannot be read ({error}): left out')
            continue
        labels = predict(model, np.ascontiguousarray(image[..., ::-1]))
        mask = Image.fromarray(labels)
        mask.putpalette(palette.flatten().tolist())
        mask.save(osp.join(args.out, 'pred', name))
        overlay = draw_overlay(image, labels, classes, palette, args.opacity)
        overlay.save(osp.join(args.out, 'vis', name))
        eta = (time.monotonic() - start) / i * (len(paths) - i)
        print(f'{i}/{len(paths)} {path}, eta {eta:.0f} s', flush=True)
    print(f'results: {args.out}')
    if failed:
        raise SystemExit(
            f'{len(failed)} of {len(paths)} images could not be read: '
            f'{", ".join(failed[:5])}'
        )


if __name__ == '__main__':
    main()
