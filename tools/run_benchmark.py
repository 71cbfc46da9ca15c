r"""Run many sequences: every config with every seed, what is missing of them.

Runs with the same step 0 train it once. Stop it whenever you like: the same
command continues where it was. For example:

  python tools/run_benchmark.py \
      configs/*/*_voc12aug-15-1-overlapped.py --seeds 0 1 2 --devices 0 1 2 3
"""

import argparse
import os.path as osp
import signal
import sys
from collections.abc import Sequence

from mmengine.config import DictAction
from mmengine.registry import init_default_scope

TRAIN_TOOL = osp.join(osp.dirname(osp.abspath(__file__)), 'train.py')


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('configs', nargs='+', help='config files')
    parser.add_argument(
        '--seeds', nargs='+', type=int, default=[0], help='random seeds'
    )
    parser.add_argument(
        '--work-dir',
        default='work_dirs/benchmark',
        help='folder of all runs: <config>/seed_<seed>/ (default: '
        '%(default)s)',
    )
    parser.add_argument(
        '--devices',
        nargs='+',
        default=['cpu'],
        help='one job at a time runs on each: cpu, a GPU such as 0, or '
        'several GPUs for one job such as 0,1 (default: cpu)',
    )
    parser.add_argument(
        '--dry-run', action='store_true', help='only say what would run'
    )
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        default=[],
        metavar='KEY=VALUE',
        help='override settings in all configs',
    )
    return parser.parse_args()


def parse_options(pairs: list[str]) -> dict:
    """Turn KEY=VALUE into what the config takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--options', nargs='+', action=DictAction)
    return parser.parse_args(['--options', *pairs]).options if pairs else {}


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.engine.benchmark import plan_jobs, run_jobs
    from mmseg_rbc.utils.errors import plain_errors

    init_default_scope('mmseg')
    # A terminated benchmark stops its children, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with plain_errors():
        jobs = plan_jobs(
            args.configs,
            args.seeds,
            args.work_dir,
            parse_options(args.cfg_options),
        )
    if args.dry_run:
        for job in jobs:
            state = 'finished' if job.is_finished() else 'to run'
            base = f', step 0 of {job.shares.name}' if job.shares else ''
            print(f'{job.name}: {state}{base}')
        return
    try:
        failed = run_jobs(
            jobs,
            args.devices,
            TRAIN_TOOL,
            args.cfg_options,
            say=lambda text: print(text, flush=True),
        )
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finished = [job.folder.path for job in jobs if job.is_finished()]
    report_results(finished, osp.join(args.work_dir, 'benchmark.json'))
    if failed:
        raise SystemExit(
            f'{len(failed)} of {len(jobs)} runs failed: '
            + '; '.join(f'{job.name} ({job.folder.log})' for job in failed)
        )


def report_results(work_dirs: Sequence[str], path: str) -> None:
    """Print the results of runs, and write them by config and seed.

    Args:
        work_dirs: Folders of the finished runs.
        path: The JSON file to write.
    """
    from mmseg_rbc.evaluation.continual_metrics import GROUPS
    from mmseg_rbc.reporting.tables import benchmark_table
    from mmseg_rbc.runs.experiment import find_experiments
    from mmseg_rbc.runs.run import load_run
    from mmseg_rbc.utils.files import write_json

    runs = [load_run(work_dir) for work_dir in work_dirs]
    experiments, problems = find_experiments(runs)
    for problem in [*(p for run in runs for p in run.problems), *problems]:
        print(f'missing: {problem}')
    content = {}
    for experiment in experiments:
        numbers = experiment.numbers()
        content[experiment.name] = {
            group: [round(value, 2) for value in numbers[group]['values']]
            for group in GROUPS
        }
    write_json(path, content)
    print(benchmark_table(experiments))
    print(f'results: {path}')


if __name__ == '__main__':
    main()
