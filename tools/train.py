"""Train a continual sequence, or one step of it.

Finished steps are skipped, so the same command continues a run that was
stopped; with --resume an unfinished step continues from its last checkpoint.
"""

import argparse

from mmengine.config import Config, DictAction
from mmengine.registry import init_default_scope


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('config', help='config file')
    parser.add_argument(
        '--work-dir',
        help='folder of all steps; work_dirs/<name of the config> by default',
    )
    parser.add_argument('--step', type=int, help='run only this step')
    parser.add_argument(
        '--resume',
        action='store_true',
        help='continue an unfinished step from its last checkpoint',
    )
    parser.add_argument(
        '--check',
        action='store_true',
        help='only check everything that can be checked before training: '
        'keys, parts and data of all steps, a pass over two images, the disk',
    )
    parser.add_argument(
        '--init-from',
        metavar='PATH',
        help='take step 0 from this checkpoint or work dir, to share it '
        'between methods',
    )
    parser.add_argument(
        '--amp',
        action='store_true',
        help='automatic mixed precision (needs an accelerator)',
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        metavar='KEY=VALUE',
        help='override settings of the config, such as continual.task=10-1',
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


def read_config(args: argparse.Namespace) -> tuple[Config, dict]:
    """Return the config with the options of the command line, and those."""
    from mmseg_rbc.engine.config_parts import load_config

    options = dict(args.cfg_options or {})
    if args.amp:
        options['optim_wrapper.type'] = 'AmpOptimWrapper'
        options['optim_wrapper.loss_scale'] = 'dynamic'
    cfg = load_config(args.config, options)
    cfg.launcher = args.launcher
    return cfg, options


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.utils.errors import plain_errors

    with plain_errors():
        train(args)


def train(args: argparse.Namespace) -> None:
    """Run the sequence, and print its results."""
    from mmengine.dist import is_main_process

    from mmseg_rbc.engine import run_sequence
    from mmseg_rbc.engine.benchmark import config_name
    from mmseg_rbc.engine.launch import processes
    from mmseg_rbc.reporting.tables import summary_table
    from mmseg_rbc.runs import WorkDir
    from mmseg_rbc.utils.errors import stoppable
    from mmseg_rbc.utils.faults import explained_faults

    cfg, options = read_config(args)
    init_default_scope('mmseg')
    default = f'work_dirs/{config_name(args.config)}'
    work_dir = args.work_dir or cfg.get('work_dir') or default
    group = processes(args.launcher, args.local_rank, cfg.get('env_cfg', {}))
    how_far = WorkDir(work_dir).how_far
    with explained_faults(how_far), stoppable(how_far), group:
        results = run_sequence(
            cfg,
            work_dir,
            steps=None if args.step is None else [args.step],
            resume=args.resume,
            init_from=args.init_from or cfg.get('init_from'),
            options=options,
            check_only=args.check,
        )
        if args.check:
            print(f'{args.config} can be trained: all steps are checked')
        elif is_main_process():
            print(summary_table(results))
            print(f'results: {WorkDir(work_dir).summary}')


if __name__ == '__main__':
    main()
