"""Make one page about one or many runs: how good, what was forgotten, why.

Writes report.html, which needs no network, and beside it the figures (PNG)
and the numbers (CSV). Unfinished or damaged runs are shown as far as they go.
"""

import argparse
import os.path as osp


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'work_dirs',
        nargs='+',
        help='work dirs of runs, or folders with such at any depth',
    )
    parser.add_argument(
        '--out',
        help='folder for all files; report/ in the first work dir by default',
    )
    parser.add_argument(
        '--title', default='Continual segmentation', help='heading of the page'
    )
    parser.add_argument(
        '--images',
        type=int,
        default=0,
        metavar='N',
        help='also predict N validation images with the networks of all steps',
    )
    return parser.parse_args()


def main() -> None:
    """Run the command line."""
    args = parse_args()
    for path in args.work_dirs:
        if not osp.isdir(path):
            raise SystemExit(
                f'{path} is no folder: pass the work dir of a run'
            )
    # Not above: --help answers without torch.
    from mmseg_rbc.reporting.predictions import draw_predictions
    from mmseg_rbc.reporting.report import write_report
    from mmseg_rbc.runs.run import find_runs

    out = args.out or osp.join(args.work_dirs[0], 'report')
    runs = find_runs(args.work_dirs)
    for problem in [p for run in runs for p in run.problems]:
        print(f'missing: {problem}')
    pictures, problems = {}, []
    if args.images:
        try:
            pictures = draw_predictions(runs, args.images, out)
        except Exception as error:  # the page must not be lost for pictures
            problems = [f'no predictions: {type(error).__name__}: {error}']
            print(problems[0])
    path = write_report(runs, out, args.title, pictures, problems)
    print(f'report: {path}')


if __name__ == '__main__':
    main()
