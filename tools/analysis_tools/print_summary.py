"""Print the results of finished runs: mIoU of old, new and all by step."""

import argparse


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('work_dirs', nargs='+', help='work dirs of runs')
    args = parser.parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.reporting.tables import summary_table
    from mmseg_rbc.runs import WorkDir

    for folder in map(WorkDir, args.work_dirs):
        try:
            steps = folder.read_summary()['steps']
            table = summary_table(steps, folder.summary)
        except FileNotFoundError as error:
            raise SystemExit(str(error)) from None
        except (
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise SystemExit(
                f'{folder.summary} cannot be read ({error!r}): run the same '
                'training command again, which writes it anew'
            ) from None
        print(table)


if __name__ == '__main__':
    main()
