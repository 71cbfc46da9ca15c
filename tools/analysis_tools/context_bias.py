"""Measure how much old classes depend on new ones beside them.

With the checkpoint of a later step: the classes learned after step 0 are
erased from the validation images; how many pixels of the old classes change
their prediction, how much probability does their true class lose, how much
IoU?
Written to context_bias.json beside the checkpoint, where the report finds it.
And the training data: how often does an old class come with a new one, in the
images of step 0 and in those of the later step? (co_occurrence.png, .json)
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
from mmengine.config import Config
from mmengine.registry import init_default_scope

if TYPE_CHECKING:
    from mmseg.models import EncoderDecoder

    from mmseg_rbc.runs import StepDir


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


def measure(model: EncoderDecoder, num_old: int) -> dict[str, Any]:
    """Measure a network on its validation data."""
    from mmseg_rbc.apis import build_dataset
    from mmseg_rbc.datasets.wrappers import base_datasets
    from mmseg_rbc.evaluation.context_bias import measure_network
    from mmseg_rbc.utils.progress import track

    config = next(base_datasets(model.cfg.val_dataloader.dataset))
    dataset = build_dataset(config)
    samples = (dataset[i] for i in range(len(dataset)))
    tracked = track(samples, 'measuring context bias', len(dataset))
    result = measure_network(model, tracked, num_old)
    erased = list(model.dataset_meta['classes'][num_old:])
    return dict(result, erased=erased)


def measure_data(cfg: Config, out: StepDir) -> None:
    """Compare what old classes come with in the training data; draw it."""
    from mmseg_rbc.apis import build_dataset
    from mmseg_rbc.datasets.wrappers import base_datasets
    from mmseg_rbc.evaluation.context_bias import data_bias
    from mmseg_rbc.reporting import plots
    from mmseg_rbc.utils.files import write_json

    config = next(base_datasets(cfg.train_dataloader.dataset))
    dataset = build_dataset(dict(config, step=0, pipeline=[]))
    task, names = dataset.task, dataset.all_classes
    images, steps = dataset.load_data_list(), range(task.num_steps)
    selected = [
        build_dataset(dict(config, step=step, pipeline=[])).select(images)
        for step in steps
    ]
    bias = data_bias(dataset.classes_of(images), selected, task)
    old = [names[c] for c in task.new(0)[1:]]
    new = [names[c] for step in steps[1:] for c in task.new(step)]
    tables = {key: rounded(matrix) for key, matrix in bias.items()}
    write_json(out.co_occurrence, dict(old=old, new=new, **tables))
    figure = plots.draw_heat_map(
        bias['later'] - bias['base'],
        old,
        new,
        'How much more often an old class comes with a new one\n'
        'in the images of a later step than in those of step 0',
        'percentage points',
    )
    plots.to_png(figure, out.co_occurrence_picture)


def rounded(matrix: np.ndarray) -> list[list[float | None]]:
    """Round a matrix for JSON, which does not know NaN."""
    return [
        [None if np.isnan(value) else round(value, 2) for value in row]
        for row in matrix.tolist()
    ]


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.apis import load_network
    from mmseg_rbc.reporting.tables import context_bias_table
    from mmseg_rbc.runs import StepDir
    from mmseg_rbc.utils.files import write_json

    init_default_scope('mmseg')
    try:
        model = load_network(args.checkpoint, args.device)
    except Exception as error:  # whatever is wrong with file or device
        what = f'{type(error).__name__}: {error}'
        raise SystemExit(f'{args.checkpoint} cannot be used: {what}') from None
    meta = model.dataset_meta
    if not meta.get('step'):
        raise SystemExit(
            f'{args.checkpoint} is of step {meta.get("step")}, which has no '
            'new classes: pass the checkpoint of step 1 or later'
        )
    num_old = meta['num_base'] if args.erase == 'later' else meta['num_old']
    out = StepDir(args.out) if args.out else StepDir.of(args.checkpoint)
    try:
        result = measure(model, num_old)
        write_json(out.context_bias, result)
        measure_data(model.cfg, out)
    except (OSError, ValueError) as error:  # such as data that has moved
        raise SystemExit(str(error)) from None
    print(context_bias_table(result))
    print(f'results: {out.context_bias}, {out.co_occurrence_picture}')


if __name__ == '__main__':
    main()
