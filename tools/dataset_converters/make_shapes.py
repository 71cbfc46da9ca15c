"""Make a synthetic data set of shapes, in VOC layout.

Twenty kinds of textured shapes; or, with --context, thirteen of which eight
are told apart by their neighbors only (see docs/experiments.md).
"""

import argparse


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument('out', help='folder to write, such as data/shapes')
    parser.add_argument('--num-train', type=int, default=160, help='images')
    parser.add_argument('--num-val', type=int, default=40, help='images')
    parser.add_argument(
        '--size',
        type=int,
        nargs=2,
        default=(96, 128),
        metavar=('HEIGHT', 'WIDTH'),
        help='pixels; with --context always 96 x 96',
    )
    parser.add_argument(
        '--context',
        choices=['biased', 'even'],
        help='shapes told apart by their neighbors: a new class always beside '
        'the same kind of neighbor in training, or beside all',
    )
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.datasets.context_shapes import make_context_shapes
    from mmseg_rbc.datasets.shapes import make_shapes

    numbers = (args.num_train, args.num_val)
    if args.context:
        bias = args.context == 'biased'
        make_context_shapes(args.out, *numbers, bias, args.seed)
    else:
        make_shapes(args.out, *numbers, tuple(args.size), args.seed)
    print(f'wrote {args.num_train} + {args.num_val} images to {args.out}')


if __name__ == '__main__':
    main()
