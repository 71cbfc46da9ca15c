"""Draw the image duplets of a continual step: what the network is shown."""

from __future__ import annotations

import argparse
import os.path as osp
from typing import TYPE_CHECKING

import numpy as np
from mmengine.config import Config, DictAction
from mmengine.registry import init_default_scope
from mmengine.utils import mkdir_or_exist

if TYPE_CHECKING:
    from mmseg_rbc.datasets import ContinualDataset


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument('config', help='config file')
    parser.add_argument('--step', type=int, default=1, help='continual step')
    parser.add_argument(
        '--num', type=int, default=6, help='images, spread over the step'
    )
    parser.add_argument(
        '--fill',
        default='black',
        help='fill of the erased part, if the config does not erase: black, '
        'mean, noise or inpaint',
    )
    parser.add_argument(
        '--out', help='picture; duplets_step_<step>.png by default'
    )
    parser.add_argument('--seed', type=int, default=0, help='of the crops')
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        metavar='KEY=VALUE',
        help='override values of the config, such as continual.task=10-1',
    )
    return parser.parse_args()


def build_dataset(args: argparse.Namespace) -> ContinualDataset:
    """Build the training data of the step."""
    from mmseg.registry import DATASETS

    from mmseg_rbc.datasets.wrappers import base_datasets
    from mmseg_rbc.engine import step_config

    cfg = Config.fromfile(args.config)
    options = dict(args.cfg_options or {})
    cfg.merge_from_dict(options)
    cfg = step_config(cfg, args.step, options=options)
    return DATASETS.build(next(base_datasets(cfg.train_dataloader.dataset)))


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.datasets.transforms import NewClassErase
    from mmseg_rbc.visualization import draw_duplets, duplet_views

    init_default_scope('mmseg')
    np.random.seed(args.seed)
    out = args.out or f'duplets_step_{args.step}.png'
    try:
        erase = NewClassErase(fill=args.fill)
        dataset = build_dataset(args)
        last, count = len(dataset) - 1, min(args.num, len(dataset))
        indices = np.linspace(0, last, count).astype(int).tolist()
        views = duplet_views(dataset, indices, erase)
    except (OSError, ValueError) as error:
        raise SystemExit(str(error)) from None
    mkdir_or_exist(osp.dirname(osp.abspath(out)))
    draw_duplets(dataset, views, out)
    print(f'{dataset.task}, step {args.step}: {len(dataset)} images')
    print(f'wrote {out}')


if __name__ == '__main__':
    main()
