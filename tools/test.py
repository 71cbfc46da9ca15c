"""Evaluate a checkpoint of any continual step.

The step is read from the checkpoint.
"""

import argparse
import os
import os.path as osp

from mmengine.config import Config, DictAction
from mmengine.registry import init_default_scope
from mmengine.runner import Runner
from mmengine.runner.checkpoint import _load_checkpoint

import mmseg_rbc  # noqa: F401
from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.launch import (
    add_launcher_arguments,
    init_processes,
    runtime_config,
)


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
    args = parser.parse_args()
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    return args


def checkpoint_step(path: str) -> int:
    """Return the continual step that a checkpoint was trained at."""
    if not osp.isfile(path):
        raise FileNotFoundError(f'checkpoint {path} does not exist')
    meta = _load_checkpoint(path, map_location='cpu').get('meta', {})
    if 'step' not in meta.get('dataset_meta', {}):
        raise ValueError(
            f'{path} does not say its continual step: expected a checkpoint '
            'of tools/train.py'
        )
    return meta['dataset_meta']['step']


def main() -> None:
    """Run the command line."""
    args = parse_args()
    cfg = Config.fromfile(args.config)
    options = dict(args.cfg_options or {})
    cfg.merge_from_dict(options)
    init_default_scope('mmseg')
    init_processes(args.launcher, cfg.get('env_cfg', {}))
    step = checkpoint_step(args.checkpoint)
    folder = args.work_dir or osp.join(osp.dirname(args.checkpoint), 'test')
    cfg = step_config(cfg, step, folder, options=options)
    # No training: no teacher is needed.
    cfg.model.pop('previous', None)
    cfg.launcher = args.launcher
    cfg.load_from = args.checkpoint
    cfg.work_dir = folder
    cfg.test_evaluator.out_file = osp.join(folder, 'metrics.json')
    Runner.from_cfg(runtime_config(cfg)).test()
    print(f'results: {osp.join(folder, "metrics.json")}')


if __name__ == '__main__':
    main()
