"""Make the class index of VOC 2012 that ships with the package."""

import argparse
import json

from mmseg_rbc.datasets.class_index import SHIPPED_INDEX, write_shipped


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        'labels', help='JSON file: image name -> label values of its mask'
    )
    parser.add_argument('--out', default=SHIPPED_INDEX, help='file to write')
    args = parser.parse_args()
    with open(args.labels) as file:
        write_shipped(json.load(file), args.out)
    print(f'wrote {args.out}')


if __name__ == '__main__':
    main()
