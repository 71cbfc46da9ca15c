"""Measure speed and memory of all methods: one table, and JSON.

Every figure is a ratio of CPU times of one thread, taken in turns in this
process: the median of some repeats, with the quartiles. What each part
compares is said at the top of its file.

Examples:
    python benchmarks/run.py --quick
    python benchmarks/run.py iteration losses --out results.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import logging
import platform
import sys
import time
import warnings

PARTS = (
    'iteration',
    'published',
    'losses',
    'data',
    'around',
    'growth',
)


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'parts', nargs='*', metavar='PART', help=', '.join(PARTS)
    )
    parser.add_argument(
        '--quick', action='store_true', help='fewer repeats, 128 pixels only'
    )
    parser.add_argument('--out', help='JSON file to write')
    args = parser.parse_args()
    for part in args.parts:
        if part not in PARTS:
            parser.error(f'{part!r} is none of {", ".join(PARTS)}')
    return args


def line(figure) -> str:
    """Return the line of a figure in the table."""
    spread = ''
    if figure.low is not None:
        spread = f'{figure.low:.3g} - {figure.high:.3g}'
    verdict = {None: '', True: 'holds', False: 'FAILS'}[figure.holds]
    value = (
        f'{figure.value:.3f}' if figure.value < 10 else f'{figure.value:.0f}'
    )
    cells = (
        figure.part,
        figure.name,
        f'{value} {figure.unit}'.strip(),
        spread,
        f'{figure.limit} {verdict}'.strip(),
    )
    return f'| {" | ".join(cells)} |'


def main() -> None:
    """Run the command line."""
    args = parse_args()
    # Of MMSeg and MMEngine, about what nothing here depends on.
    warnings.simplefilter('ignore')
    import torch
    from around import around_figures
    from iteration import growth_figures, iteration_figures, published_figures
    from loading import data_figures
    from losses import loss_figures
    from mmengine.registry import init_default_scope

    from mmseg_rbc.utils.cpu import keep_freed_memory

    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    keep_freed_memory()
    init_default_scope('mmseg')
    functions = (
        iteration_figures,
        published_figures,
        loss_figures,
        data_figures,
        around_figures,
        growth_figures,
    )
    figures, start = [], time.monotonic()
    print('| part | what | value | quartiles | limit |')
    print('|---|---|---|---|---|')
    for part, function in zip(PARTS, functions):
        if args.parts and part not in args.parts:
            continue
        for figure in function(args.quick):
            figures.append(figure)
            print(line(figure), flush=True)
    seconds = time.monotonic() - start
    failed = sum(figure.holds is False for figure in figures)
    checked = sum(figure.holds is not None for figure in figures)
    print(
        f'\n{len(figures)} figures in {seconds:.0f} s; '
        f'{checked - failed} of {checked} limits hold'
    )
    if args.out:
        rows = [
            dict(dataclasses.asdict(figure), holds=figure.holds)
            for figure in figures
        ]
        about = dict(
            torch=torch.__version__,
            machine=platform.processor() or platform.machine(),
            quick=args.quick,
            seconds=round(seconds),
        )
        with open(args.out, 'w') as file:
            json.dump(dict(about, figures=rows), file, indent=2)
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
