"""Write the complete config of a run on data of your own.

    python tools/new_config.py streets.py \
        --images data/train/images --masks data/train/masks \
        --val-images data/val/images --val-masks data/val/masks \
        --classes sky tree road car --steps sky,tree road car

Suffixes, label values, sizes and the number of images are found out. A class
is NAME, which takes the next label value that the masks hold, NAME=7 or
NAME=7,8, or NAME=#804080 if the masks have colors. If the first class is
"background" it is class 0. Without validation folders every tenth image is
held out. No image or mask is changed.
"""

from __future__ import annotations

import argparse
import os
import os.path as osp
import re
from collections.abc import Sequence
from typing import Any

REPO = osp.dirname(osp.dirname(osp.abspath(__file__)))
BASE = osp.join(REPO, 'configs', '_base_')
# A crop may be smaller than the images, and is a multiple of any stride.
LARGEST_CROP, STRIDE = 512, 32
HELD_OUT = 10
WEIGHTS = 'data/weights/mobilenet_v2_imagenet_mmseg.pth'
ONLINE_WEIGHTS = 'mmcls://mobilenet_v2'

TEMPLATE = """\
# Written by tools/new_config.py; change what you like.
_base_ = [
{bases}]
continual = dict(
    metainfo=dict(classes={classes}),
    task={steps},
    # overlapped: images with a class of the step, whatever else they show.
    setting='overlapped',
    img_suffix={img_suffix!r},
    seg_map_suffix={seg_map_suffix!r},
    # The class of each label value; others must be in ignore_values.
    label_map={label_map},
    ignore_values={ignore_values},
    mask_palette={mask_palette},
)
# {num_images} training images of {size}.
crop_size = {crop}
# Iterations, and the batch of all processes together.
schedule = dict(
    base=dict(lr=0.02, epochs=None, iters=2000, batch_size={batch_size}),
    later=dict(lr=0.0007, epochs=None, iters=500, batch_size={batch_size}),
)
{weights}train_dataloader = dict(
    dataset=dict(
        data_prefix=dict(
            img_path={train[0]!r},
            seg_map_path={train[1]!r},
        ),
        ann_file={train[2]!r},
    ),
)
val_dataloader = dict(
    dataset=dict(
        data_prefix=dict(
            img_path={val[0]!r},
            seg_map_path={val[1]!r},
        ),
        ann_file={val[2]!r},
    ),
)
test_dataloader = val_dataloader
"""


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('out', help='config file to write')
    parser.add_argument('--images', required=True, help='training images')
    parser.add_argument('--masks', required=True, help='their masks')
    parser.add_argument('--val-images', help='validation images')
    parser.add_argument('--val-masks', help='their masks')
    parser.add_argument('--classes', nargs='+', required=True)
    parser.add_argument(
        '--steps',
        nargs='+',
        required=True,
        help='classes of each step, with commas between them',
    )
    parser.add_argument(
        '--void',
        nargs='*',
        default=[],
        help='label values (or #colors) to ignore, besides 255',
    )
    parser.add_argument('--method', default='rbc')
    parser.add_argument(
        '--model',
        default='deeplabv3_mv2-d16',
        help='file of configs/_base_/models (default: %(default)s)',
    )
    args = parser.parse_args()
    if bool(args.val_images) != bool(args.val_masks):
        parser.error('--val-images and --val-masks need each other')
    return args


def parse_classes(specs: Sequence[str]) -> dict[str, list[str]]:
    """Return the values or colors that were given to each class."""
    parts = [spec.partition('=') for spec in specs]
    return {name: values.split(',') * bool(on) for name, on, values in parts}


def map_labels(
    classes: dict[str, list[str]], void: Sequence[str], masks: list[str]
) -> dict[str, Any]:
    """Return label_map, ignore_values and mask_palette.

    Args:
        classes: See :func:`parse_classes`.
        void: Values or colors to ignore.
        masks: The mask files.
    """
    named = [*void, *(v for values in classes.values() for v in values)]
    twice = [value for value in named if named.count(value) > 1]
    if twice:
        raise ValueError(
            f'{twice[0]} is named more than once in --classes and --void: a '
            'value means one thing'
        )
    palette = None
    if any(value.startswith('#') for value in named):
        palette = [_color(value) for value in named]
        numbers = {value: i for i, value in enumerate(named)}
    else:
        numbers = {value: _number(value) for value in named}
    ignored = [numbers[value] for value in void]
    label_map = {numbers[v]: name for name in classes for v in classes[name]}
    held = _held_values(masks, palette)
    free = [v for v in held if v not in label_map and v not in ignored]
    unnamed = [name for name, values in classes.items() if not values]
    if len(free) != len(unnamed):
        raise ValueError(
            f'the masks hold the label values {_join(free)} besides those '
            f'that were named, but {len(unnamed)} of --classes '
            f'({_join(unnamed)}) have none: name all of them as NAME=VALUE, '
            'and put what is no class into --void'
        )
    label_map.update(zip(free, unnamed))
    return dict(
        label_map=dict(sorted(label_map.items())),
        ignore_values=ignored,
        mask_palette=palette,
    )


def _held_values(
    masks: list[str], palette: list[list[int]] | None
) -> list[int]:
    import numpy as np

    from mmseg_rbc.datasets.class_index import load_class_index

    index = load_class_index(masks, palette=palette)
    return np.flatnonzero(index[:, :255].any(0)).tolist()


def _color(text: str) -> list[int]:
    if not re.fullmatch('#[0-9a-fA-F]{6}', text):
        raise ValueError(f'{text!r} is no color such as #804080')
    return [int(text[i : i + 2], 16) for i in (1, 3, 5)]


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) > 254:
        raise ValueError(f'{text!r} is no label value from 0 to 254')
    return int(text)


def _join(values: Sequence[object]) -> str:
    return ', '.join(map(str, values)) or 'none'


def crop_of(paths: Sequence[str]) -> tuple[int, str]:
    """Return a crop for images, and their sizes in words."""
    from PIL import Image

    sizes = []
    for path in paths:
        with Image.open(path) as image:
            sizes.append(image.size)
    side = min(min(sizes, key=min))
    crop = min(side, LARGEST_CROP) // STRIDE * STRIDE or side
    (w, h), (x, y) = min(sizes), max(sizes)
    return crop, f'{h} x {w} to {y} x {x} pixels (height x width)'


def write_lists(out: str, names: list[str]) -> list[str]:
    """Hold every tenth image out, and return the lists of both parts."""
    held = names[HELD_OUT - 1 :: HELD_OUT] or names[-1:]
    parts = dict(train=[n for n in names if n not in {*held}], val=held)
    files = []
    for part, listed in parts.items():
        path = f'{osp.splitext(osp.abspath(out))[0]}_{part}.txt'
        with open(path, 'w') as file:
            file.write('\n'.join(listed) + '\n')
        files.append(path)
    return files


def base_files(out: str, args: argparse.Namespace) -> list[str]:
    """Return the base files of a config, relative to it."""
    parts = [f'models/{args.model}', f'methods/{args.method}']
    parts += ['datasets/continual_own', 'schedules/voc128']
    parts += ['recipes/small', 'default_runtime']
    files = [osp.join(BASE, f'{part}.py') for part in parts]
    for path in files:
        if not osp.isfile(path):
            known = sorted(os.listdir(osp.dirname(path)))
            names = _join([osp.splitext(name)[0] for name in known])
            raise ValueError(f'{path} does not exist: choose one of {names}')
    return [osp.relpath(path, osp.dirname(osp.abspath(out))) for path in files]


def weights_of(model: str) -> str:
    """Return what a config says of weights that are not on this machine."""
    if 'mv2' not in model or osp.isfile(WEIGHTS):
        return ''
    value = f'dict(checkpoint={ONLINE_WEIGHTS!r})'
    note = '# Downloaded once; a file of your own works too.\n'
    return f'{note}model = dict(backbone=dict(init_cfg={value}))\n'


def parse_steps(
    specs: Sequence[str], classes: Sequence[str]
) -> list[list[str]]:
    """Return the classes of each step."""
    steps = [spec.split(',') for spec in specs]
    unknown = [name for step in steps for name in step if name not in classes]
    if unknown:
        raise ValueError(
            f'--steps has {unknown[0]!r}, which is none of --classes '
            f'({_join(classes)}): correct one of them'
        )
    return steps


def make_config(args: argparse.Namespace) -> str:
    """Look at the data and return the text of the config."""
    from mmseg_rbc.datasets.pairs import find_pairs

    classes = parse_classes(args.classes)
    steps = parse_steps(args.steps, list(classes))
    names, *ends = find_pairs(args.images, args.masks)
    folders = [osp.abspath(args.images), osp.abspath(args.masks)]
    train, val, num_images = [*folders, ''], [*folders, ''], len(names)
    masks = [osp.join(folders[1], name + ends[1]) for name in names]
    if args.val_images and args.val_masks:
        others, *val_ends = find_pairs(args.val_images, args.val_masks)
        if val_ends != ends:
            raise ValueError(
                f'training files end with {_join(ends)}, those of validation '
                f'with {_join(val_ends)}: name them alike'
            )
        val = [osp.abspath(args.val_images), osp.abspath(args.val_masks), '']
        masks += [osp.join(val[1], name + ends[1]) for name in others]
    else:
        train[2], val[2] = write_lists(args.out, names)
        num_images -= len(names) // HELD_OUT or 1
    labels = map_labels(classes, args.void, masks)
    crop, size = crop_of([f'{folders[0]}/{name}{ends[0]}' for name in names])
    return TEMPLATE.format(
        bases=''.join(f'    {f!r},\n' for f in base_files(args.out, args)),
        classes=list(classes),
        steps=steps,
        img_suffix=ends[0],
        seg_map_suffix=ends[1],
        **labels,
        num_images=num_images,
        size=size,
        crop=(crop, crop),
        # Two views of each image in later steps.
        batch_size=max(2, min(16, num_images) // 2 * 2),
        weights=weights_of(args.model),
        train=train,
        val=val,
    )


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.utils.errors import plain_errors

    with plain_errors():
        text = make_config(args)
        with open(args.out, 'w') as file:
            file.write(text)
    print(f'written: {args.out}')
    print(f'next: python tools/train.py {args.out} --check')


if __name__ == '__main__':
    main()
