"""Make the class index of VOC 2012 that ships with the package."""

import argparse
import json

from mmseg_rbc.datasets.class_index import SHIPPED_INDEX, write_shipped


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        'labels', help='JSON: label values of its mask for every image name'
    )
    parser.add_argument('lists', help='JSON: image names of trainaug and val')
    parser.add_argument('--out', default=SHIPPED_INDEX, help='file to write')
    args = parser.parse_args()
    with open(args.labels) as labels, open(args.lists) as lists:
        val = set(json.load(lists)['val'])
        write_shipped(json.load(labels), val, args.out)
    print(f'wrote {args.out}')


if __name__ == '__main__':
    main()
