"""Segment an image, or all images of a folder, with a checkpoint of any step.

No config is needed: it is in the checkpoint, and is read, not executed. For
each image it writes vis/<name>.png (the image, its segmentation and a legend)
and pred/<name>.png: the label values of the masks that the network was trained
with, which classes.json names.
"""

import argparse
import os
import os.path as osp
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image, ImageOps

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
        '--network-order',
        action='store_true',
        help='write the positions of classes in the network instead: 0 is '
        'background, then the classes in the order in which they were learned',
    )
    parser.add_argument(
        '--device', default='cpu', help='such as cuda:0 (default: cpu)'
    )
    return parser.parse_args()


def find_images(path: str) -> list[str]:
    """Return an image, or the images of a folder."""
    if osp.isfile(path):
        return [path]
    names = sorted(os.listdir(path)) if osp.isdir(path) else []
    images = [name for name in names if name.lower().endswith(SUFFIXES)]
    if not images:
        raise SystemExit(
            f'{path} is neither an image nor a folder with images '
            f'({", ".join(SUFFIXES)})'
        )
    return [osp.join(path, name) for name in images]


def result_names(paths: list[str]) -> list[str]:
    """Return the file names of results; a.jpg and a.png stay apart."""
    names = [osp.basename(path) for path in paths]
    stems = [osp.splitext(name)[0] for name in names]
    return [
        f'{stem if stems.count(stem) == 1 else name}.png'
        for stem, name in zip(stems, names)
    ]


def read_image(path: str) -> np.ndarray:
    """Return ``(H, W, 3)`` RGB, upright as the camera was held."""
    with Image.open(path) as file:
        return np.array(ImageOps.exif_transpose(file).convert('RGB'))


def label_values(meta: Mapping[str, Any], network_order: bool) -> np.ndarray:
    """Return the values to write.

    Args:
        meta: Of the data that the network was trained with.
        network_order: Whether to leave labels as they are.

    Returns:
        ``(K,)`` uint8, by position in the network; 255 for what is not
        learned yet if masks have no value for it.
    """
    positions = np.arange(len(meta['classes']), dtype=np.uint8)
    found = np.array(meta.get('label_values', positions), np.uint8)
    # Checkpoints of earlier versions have none.
    fits = found.shape == positions.shape and not network_order
    return found if fits else positions


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.apis import load_network, predict
    from mmseg_rbc.utils.files import write_json
    from mmseg_rbc.utils.progress import track
    from mmseg_rbc.visualization import draw_overlay

    paths = find_images(args.images)
    try:
        model = load_network(args.checkpoint, args.device)
    except Exception as error:  # whatever is wrong with file or device
        what = f'{type(error).__name__}: {error}'
        raise SystemExit(f'{args.checkpoint} cannot be used: {what}') from None
    classes = model.dataset_meta['classes']
    palette = np.array(model.dataset_meta['palette'], np.uint8)
    values = label_values(model.dataset_meta, args.network_order)
    colors = np.zeros((256, 3), np.uint8)
    colors[values] = palette
    names = dict(zip(values.tolist(), classes))
    write_json(osp.join(args.out, 'classes.json'), names)
    for folder in ('pred', 'vis'):
        os.makedirs(osp.join(args.out, folder), exist_ok=True)
    failed = []
    files = list(zip(paths, result_names(paths)))
    for path, name in track(files, 'predicting', len(files)):
        try:
            image = read_image(path)
        except OSError as error:
            failed.append(f'{path} ({error})')
            continue
        labels = predict(model, np.ascontiguousarray(image[..., ::-1]))
        mask = Image.fromarray(values[labels])
        mask.putpalette(colors.flatten().tolist())
        mask.save(osp.join(args.out, 'pred', name))
        overlay = draw_overlay(image, labels, classes, palette)
        overlay.save(osp.join(args.out, 'vis', name))
    print(f'results: {args.out}')
    if failed:
        raise SystemExit(
            f'{len(failed)} of {len(files)} images could not be read: '
            f'{", ".join(failed[:5])}'
        )


if __name__ == '__main__':
    main()
