"""Make the synthetic data set of textured shapes, in VOC layout."""

import argparse

from mmseg_rbc.datasets.shapes import make_shapes


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
        help='pixels',
    )
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    make_shapes(
        args.out, args.num_train, args.num_val, tuple(args.size), args.seed
    )
    print(f'wrote {args.num_train} + {args.num_val} images to {args.out}')


if __name__ == '__main__':
    main()
