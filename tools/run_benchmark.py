r"""Run many sequences: every config with every seed, what is missing of them.

Runs with the same step 0 train it once. Stop it whenever you like: the same
command continues where it was. For example:

  python tools/run_benchmark.py \
      configs/*/*_voc12aug-15-1-overlapped.py --seeds 0 1 2 --devices 0 1 2 3

The same on a cluster, where each run is a job of Slurm:

  python tools/run_benchmark.py \
      configs/*/*_voc12aug-15-1-overlapped.py --seeds 0 1 2 \
      --cluster slurm --partition gpu --gpus-per-job 2 --max-jobs 16
"""

from __future__ import annotations

import argparse
import os.path as osp
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mmengine.config import DictAction
from mmengine.registry import init_default_scope

if TYPE_CHECKING:
    from mmseg_rbc.engine.benchmark import Job

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
        help='one job at a time runs on each: cpu, a GPU such as 0, or '
        'several GPUs for one job such as 0,1 (default: cpu)',
    )
    add_cluster_options(parser)
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
    args = parser.parse_args()
    if args.cluster != 'local' and args.devices:
        parser.error('--devices is of --cluster local: use --gpus-per-job')
    return args


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add what only jobs of a cluster have."""
    parser.add_argument(
        '--cluster',
        choices=['local', 'slurm'],
        default='local',
        help='where to run: this machine, or jobs of Slurm (default: local)',
    )
    group = parser.add_argument_group('with --cluster slurm')
    group.add_argument('--partition', help='partition of Slurm')
    group.add_argument(
        '--gpus-per-job',
        type=int,
        default=1,
        help='GPUs of one machine for a run; 0: on the CPU (default: 1)',
    )
    group.add_argument(
        '--cpus-per-job', type=int, help='cores (default: 5 a GPU)'
    )
    group.add_argument(
        '--max-jobs', type=int, help='how many run at a time (default: all)'
    )
    group.add_argument(
        '--hours',
        type=float,
        default=24.0,
        help='time limit of a job, after which it is queued again and goes '
        'on (default: %(default)s)',
    )
    group.add_argument(
        '--slurm-options',
        nargs='+',
        default=[],
        metavar='KEY=VALUE',
        help='further options of sbatch, such as account=mine qos=high',
    )


def parse_options(pairs: list[str]) -> dict:
    """Turn KEY=VALUE into what the config takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--options', nargs='+', action=DictAction)
    return parser.parse_args(['--options', *pairs]).options if pairs else {}


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.engine.benchmark import plan_jobs, plan_lines
    from mmseg_rbc.engine.slurm_jobs import slurm_parts
    from mmseg_rbc.utils.errors import plain_errors

    init_default_scope('mmseg')
    # A terminated benchmark stops its children, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    on_slurm = args.cluster == 'slurm'
    with plain_errors():
        jobs = plan_jobs(
            args.configs,
            args.seeds,
            args.work_dir,
            parse_options(args.cfg_options),
        )
        if args.dry_run:
            processes = max(args.gpus_per_job, 1) if on_slurm else 1
            print('\n'.join(plan_lines(jobs, processes)))
            if on_slurm:
                print(f'{len(slurm_parts(jobs))} jobs of Slurm')
        elif on_slurm:
            submit(args, jobs)
    if on_slurm and not args.dry_run:
        report_finished(args, jobs)
    if on_slurm or args.dry_run:
        return
    run_here(args, jobs)


def run_here(args: argparse.Namespace, jobs: Sequence[Job]) -> None:
    """Run the jobs on this machine, and report the finished ones."""
    from mmseg_rbc.engine.local_jobs import run_jobs

    try:
        failed = run_jobs(
            jobs,
            args.devices or ['cpu'],
            TRAIN_TOOL,
            args.cfg_options,
            say=say,
        )
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    report_finished(args, jobs)
    if failed:
        raise SystemExit(
            f'{len(failed)} of {len(jobs)} runs failed: '
            + '; '.join(f'{job.name} ({job.folder.log})' for job in failed)
        )


def submit(args: argparse.Namespace, jobs: Sequence[Job]) -> None:
    """Submit to Slurm what is neither finished nor queued."""
    from mmseg_rbc.engine.slurm_jobs import Resources, submit_jobs

    resources = Resources(
        partition=args.partition,
        gpus=args.gpus_per_job,
        cpus=args.cpus_per_job,
        hours=args.hours,
        max_jobs=args.max_jobs,
        options=dict(pair.split('=', 1) for pair in args.slurm_options),
    )
    folder = osp.join(args.work_dir, 'submitit')
    options = args.cfg_options
    submit_jobs(jobs, resources, folder, TRAIN_TOOL, options, say=say)


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def report_finished(args: argparse.Namespace, jobs: Sequence[Job]) -> None:
    """Report the runs that are finished, and how far the others are."""
    finished = [job.folder.path for job in jobs if job.is_finished()]
    for job in jobs:
        done = len(job.results())
        if 0 < done < job.num_steps:
            say(f'{job.name}: {done} of {job.num_steps} steps are finished')
    say(f'{len(finished)} of {len(jobs)} runs are finished')
    report_results(finished, osp.join(args.work_dir, 'benchmark.json'))


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
