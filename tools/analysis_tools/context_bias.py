"""Measure how much old classes depend on new ones beside them.

With the checkpoint of a later step: the classes learned after step 0 are erased
from the validation images; how many pixels of the old classes change their
prediction, how much probability does their true class lose, how much IoU?
Written to context_bias.json beside the checkpoint, where the report finds it.
And the training data: how often does an old class come with a new one, in the
images of step 0 and in those of the later step? (co_occurrence.png, .json)
"""

import argparse
import json
import os.path as osp
import time

from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from prettytable import PrettyTable

import mmseg_rbc  # noqa: F401
from mmseg_rbc.apis import load_network
from mmseg_rbc.engine.step_config import base_datasets
from mmseg_rbc.evaluation.context_bias import (
    MEASURES,
    data_bias,
    measure_network,
)
from mmseg_rbc.utils.files import write_text
from mmseg_rbc.visualization import plots


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('checkpoint', help='checkpoint of step 1 or later')
    parser.add_argument(
        '--erase',
        choices=['later', 'step'],
        default='later',
        help='erase the classes learned after step 0, or only those of the '
        'step of the checkpoint (default: %(default)s)',
    )
    parser.add_argument(
        '--device', default='cpu', help='such as cuda:0 (default: cpu)'
    )
    parser.add_argument(
        '--out',
        help='folder for the results; that of the checkpoint by default',
    )
    return parser.parse_args()


def measure_data(cfg, out: str) -> None:
    """Compare what old classes come with, and draw it."""
    config = next(base_datasets(cfg.train_dataloader.dataset))

    def build(step: int):
        return DATASETS.build(dict(config, step=step, pipeline=[]))

    dataset = build(0)
    task, names = dataset.task, dataset.all_classes
    images = dataset.load_data_list()
    steps = range(1, task.num_steps)
    selected = [build(s).select(images) for s in range(task.num_steps)]
    bias = data_bias(dataset.classes_of(images), selected, task)
    rows = [names[c] for c in task.new(0)[1:]]
    columns = [names[c] for step in steps for c in task.new(step)]
    difference = bias['later'] - bias['base']
    figure = plots.draw_heat_map(
        difference,
        rows,
        columns,
        'How much more often an old class comes with a new one\n'
        'in the images of a later step than in those of step 0',
        'percentage points',
    )
    plots.to_png(figure, osp.join(out, 'co_occurrence.png'))
    content = dict(
        old=rows,
        new=columns,
        **{
            key: [[None if v != v else round(v, 2) for v in row] for row in m]
            for key, m in bias.items()
        },
    )
    write_text(
        osp.join(out, 'co_occurrence.json'), json.dumps(content, indent=2)
    )


def main() -> None:
    """Run the command line."""
    args = parse_args()
    init_default_scope('mmseg')
    try:
        model = load_network(args.checkpoint, args.device)
    except (FileNotFoundError, ValueError) as error:
        raise SystemExit(str(error)) from None
    cfg, meta = model.cfg, model.dataset_meta
    if not meta.get('step'):
        raise SystemExit(
            f'{args.checkpoint} is of step {meta.get("step")}, which has no '
            'new classes: pass the checkpoint of step 1 or later'
        )
    num_old = meta['num_base'] if args.erase == 'later' else meta['num_old']
    out = args.out or osp.dirname(osp.abspath(args.checkpoint))
    dataset = DATASETS.build(next(base_datasets(cfg.val_dataloader.dataset)))
    start = logged = time.monotonic()

    def progress(number: int) -> None:
        nonlocal logged
        now = time.monotonic()
        if now - logged > 5 or number == len(dataset):
            eta = (now - start) / number * (len(dataset) - number)
            print(f'{number}/{len(dataset)} images, eta {eta:.0f} s')
            logged = now

    samples = (dataset[i] for i in range(len(dataset)))
    result = measure_network(model, samples, num_old, progress)
    result['erased'] = list(meta['classes'][num_old:])
    path = osp.join(out, 'context_bias.json')
    write_text(path, json.dumps(result, indent=2))
    measure_data(cfg, out)
    table = PrettyTable(['class', *MEASURES])
    table.align = 'r'
    table.align['class'] = 'l'
    for name, row in [*result['by_class'].items(), ('mean', result['mean'])]:
        values = [row[key] for key in MEASURES]
        table.add_row(
            [name, *('-' if v is None else f'{v:.1f}' for v in values)]
        )
    print(table)
    print(f'results: {path}, {osp.join(out, "co_occurrence.png")}')


if __name__ == '__main__':
    main()
