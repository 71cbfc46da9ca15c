"""Print the results of finished runs: mIoU of old, new and all by step."""

import argparse
import json
import os.path as osp

from mmseg_rbc.reporting.tables import summary_table


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        'work_dirs', nargs='+', help='folders with summary.json'
    )
    args = parser.parse_args()
    for work_dir in args.work_dirs:
        path = osp.join(work_dir, 'summary.json')
        if not osp.isfile(path):
            raise SystemExit(f'{path} does not exist: no step is finished')
        with open(path) as file:
            print(summary_table(json.load(file)['steps'], path))


if __name__ == '__main__':
    main()
