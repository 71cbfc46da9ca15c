"""Add classes to a trained network of stock MMSeg.

From new images in which only the new classes are labeled; no image of the old
classes is needed. The grown network is exported for stock MMSeg, which runs it
without this plugin. The same command again continues a run that was stopped;
on the export, it adds the next class. See docs/add_classes.md.
"""

import argparse

from mmengine.config import DictAction


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('config', help='config of the network, of stock MMSeg')
    parser.add_argument('checkpoint', help='its checkpoint')
    add_data(parser.add_argument_group('data'))
    add_training(parser.add_argument_group('training'))
    parser.add_argument('--work-dir', help='work_dirs/<config>+<new classes>')
    parser.add_argument(
        '--dry-run', action='store_true', help='only say what would happen'
    )
    args = parser.parse_args()
    if len(dict(args.classes)) < len(args.classes):
        parser.error('--classes has a name twice: a new class has one value')
    return args


def add_data(group: argparse._ArgumentGroup) -> None:
    """Add the options of what is trained and evaluated on."""
    add = group.add_argument
    add('--images', required=True, help='folder of new images')
    add('--masks', required=True, help='folder of their masks, of equal names')
    add(
        '--classes',
        required=True,
        nargs='+',
        type=class_value,
        metavar='NAME=VALUE',
        help='new classes, and their values in the masks',
    )
    add(
        '--unlabeled',
        '--unlabelled',
        nargs='+',
        type=int,
        default=[0],
        metavar='VALUE',
        help='pixels that are none of the new classes (default: 0)',
    )
    add(
        '--void',
        nargs='+',
        type=int,
        default=[255],
        metavar='VALUE',
        help='pixels that are ignored (default: 255)',
    )
    add(
        '--val-config',
        help='config whose val_dataloader has the images to evaluate on; the '
        'config of the network by default',
    )
    add(
        '--val-split',
        type=float,
        default=0.1,
        help='share of the new images to hold out (default: %(default)s)',
    )


def add_training(group: argparse._ArgumentGroup) -> None:
    """Add the options of method, schedule and processes."""
    add = group.add_argument
    add('--method', default='rbc', help='rbc, plop, mib, ilt, lwf or ft')
    add('--epochs', type=int, default=30, help='default: %(default)s')
    add('--batch-size', type=int, default=8, help='default: %(default)s')
    add('--lr', type=float, help='a quarter of that in the config by default')
    add('--seed', type=int, default=0, help='default: %(default)s')
    add(
        '--resume',
        action='store_true',
        help='continue from the last checkpoint',
    )
    add(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        metavar='KEY=VALUE',
        help='more settings, such as recipe.relative_pod=0.3',
    )
    add(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='job launcher',
    )
    add(
        '--local_rank',
        '--local-rank',
        type=int,
        default=0,
        help='set by the launcher',
    )


def class_value(text: str) -> tuple[str, int]:
    """Return name and value of a new class."""
    name, _, value = text.rpartition('=')
    if not name or not value.isdigit() or int(value) > 254:
        raise argparse.ArgumentTypeError(
            f'{text!r} is no new class: expected NAME=VALUE with a value from '
            '0 to 254, such as bicyclist=1'
        )
    return name, int(value)


def main() -> None:
    """Run the command line."""
    args = vars(parse_args())
    # Not above: --help answers without torch.
    from mmengine.dist import is_main_process

    from mmseg_rbc.apis import add_classes, added_work_dir
    from mmseg_rbc.engine.launch import processes
    from mmseg_rbc.reporting.tables import summary_table
    from mmseg_rbc.runs import WorkDir
    from mmseg_rbc.utils.errors import plain_errors, stoppable
    from mmseg_rbc.utils.faults import explained_faults

    classes, options = dict(args.pop('classes')), args.pop('cfg_options')
    work_dir = args.pop('work_dir') or added_work_dir(args['config'], classes)
    group = processes(args.pop('launcher'), args.pop('local_rank'), {})
    how_far = WorkDir(work_dir).how_far
    with plain_errors(), explained_faults(how_far), stoppable(how_far), group:
        added = add_classes(
            **args, classes=classes, work_dir=work_dir, options=options
        )
        if added.results and is_main_process():
            print(summary_table(added.results))
            print(f'results: {added.work_dir}')
            print(f'for stock MMSeg: {added.config} {added.checkpoint}')


if __name__ == '__main__':
    main()
