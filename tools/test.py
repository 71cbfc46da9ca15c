"""Evaluate a checkpoint of any continual step.

The step is read from the checkpoint.
"""

import argparse
import os.path as osp

from mmengine.config import Config, DictAction
from mmengine.dist import is_main_process
from mmengine.registry import init_default_scope

import mmseg_rbc  # noqa: F401
from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.launch import (
    add_launcher_arguments,
    build_runner,
    processes,
)
from mmseg_rbc.runs import StepDir
from mmseg_rbc.utils.checkpoint import load_checkpoint, origin


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('config', help='config file')
    parser.add_argument('checkpoint', help='checkpoint file')
    parser.add_argument(
        '--work-dir',
        help='folder for metrics.json and logs; test/ beside the checkpoint '
        'by default',
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        metavar='KEY=VALUE',
        help='override settings of the config, such as '
        'continual.unseen=ignore',
    )
    add_launcher_arguments(parser)
    return parser.parse_args()


def checkpoint_step(path: str) -> int:
    """Return the continual step that a checkpoint was trained at."""
    found = origin(load_checkpoint(path))
    if 'step' not in found:
        raise ValueError(
            f'{path} does not say its continual step: expected a checkpoint '
            'of tools/train.py'
        )
    return found['step']


def main() -> None:
    """Run the command line."""
    args = parse_args()
    cfg = Config.fromfile(args.config)
    options = dict(args.cfg_options or {})
    cfg.merge_from_dict(options)
    init_default_scope('mmseg')
    step = checkpoint_step(args.checkpoint)
    folder = args.work_dir or osp.join(osp.dirname(args.checkpoint), 'test')
    results = StepDir(folder)
    cfg = step_config(cfg, step, options=options)
    # No training: no teacher is needed.
    cfg.model.pop('previous', None)
    cfg.launcher = args.launcher
    cfg.load_from = args.checkpoint
    cfg.work_dir = results.path
    cfg.test_evaluator.out_file = results.metrics
    with processes(args.launcher, args.local_rank, cfg.get('env_cfg', {})):
        build_runner(cfg).test()
        if is_main_process():
            print(f'results: {results.metrics}')


if __name__ == '__main__':
    main()
