"""Evaluate a checkpoint of any continual step.

The step is read from the checkpoint.
"""

import argparse
import os.path as osp

from mmengine.config import DictAction
from mmengine.registry import init_default_scope


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
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='job launcher',
    )
    parser.add_argument(
        '--local_rank',
        '--local-rank',
        type=int,
        default=0,
        help='set by the launcher',
    )
    return parser.parse_args()


def checkpoint_step(content: dict, path: str) -> int:
    """Return the continual step that a checkpoint was trained at."""
    from mmseg_rbc.utils.checkpoint import origin

    found = origin(content)
    if 'step' not in found:
        raise ValueError(
            f'{path} does not say its continual step: expected a checkpoint '
            'of tools/train.py'
        )
    return found['step']


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.utils.errors import plain_errors

    with plain_errors():
        evaluate(args)


def evaluate(args: argparse.Namespace) -> None:
    """Evaluate the checkpoint, and write the result."""
    from mmengine.dist import is_main_process

    from mmseg_rbc.engine import RunConfig
    from mmseg_rbc.engine.config_parts import load_config
    from mmseg_rbc.engine.launch import build_runner, processes
    from mmseg_rbc.engine.step_parts import continual_metrics
    from mmseg_rbc.runs import StepDir
    from mmseg_rbc.utils.checkpoint import (
        check_origin,
        load_checkpoint,
        state_of,
    )
    from mmseg_rbc.utils.weights import check_weights

    options = dict(args.cfg_options or {})
    cfg = load_config(args.config, options)
    init_default_scope('mmseg')
    content = load_checkpoint(args.checkpoint)
    step = checkpoint_step(content, args.checkpoint)
    folder = args.work_dir or osp.join(osp.dirname(args.checkpoint), 'test')
    results = StepDir(folder)
    run = RunConfig(cfg, options)
    expected = run.network_identity(step)
    # How step 0 was trained is no matter of its evaluation.
    expected.pop('base_criterion', None)
    check_origin(content, args.checkpoint, expected, 'the config is of')
    cfg = run.step(step)
    # No training: no teacher is needed.
    cfg.model.pop('previous', None)
    cfg.launcher = args.launcher
    cfg.load_from = args.checkpoint
    cfg.work_dir = results.path
    for metric in continual_metrics(cfg.test_evaluator):
        metric['out_file'] = results.metrics
    with processes(args.launcher, args.local_rank, cfg.get('env_cfg', {})):
        runner = build_runner(cfg)
        network = runner.model.state_dict()
        state = state_of(content, args.checkpoint)
        check_weights(state, network, args.checkpoint)
        runner.test()
        if is_main_process():
            print(f'results: {results.metrics}')


if __name__ == '__main__':
    main()
