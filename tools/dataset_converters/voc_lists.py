"""Write the image lists trainaug.txt and val.txt of VOC 2012."""

import argparse
import os.path as osp

from mmengine.utils import mkdir_or_exist


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('voc_root', help='such as data/VOCdevkit/VOC2012')
    args = parser.parse_args()
    # Not above: --help answers without torch.
    from mmseg_rbc.datasets.class_index import shipped_names

    folder = osp.join(args.voc_root, 'ImageSets', 'Segmentation')
    mkdir_or_exist(folder)
    for split in ('trainaug', 'val'):
        path = osp.join(folder, split + '.txt')
        if osp.exists(path):
            print(f'kept {path}')
            continue
        with open(path, 'w') as file:
            file.writelines(name + '\n' for name in shipped_names(split))
        print(f'wrote {path}')


if __name__ == '__main__':
    main()
