"""Folders of new images: found, counted, split, or refused in a sentence."""

import numpy as np
import pytest
from PIL import Image
from stock_networks import write_images, write_new

from mmseg_rbc.datasets.new_images import find_new_images


def find(root, classes=None, **kwargs):
    folders = str(root / 'images'), str(root / 'masks')
    return find_new_images(*folders, classes or dict(car=1), **kwargs)


def test_pixels_by_hand(tmp_path):
    masks = dict(a=np.zeros((2, 3)), b=np.array([[1, 1, 0], [255, 0, 0]]))
    write_images(tmp_path, {k: m.astype(int) for k, m in masks.items()})
    found = find(tmp_path)
    assert found.names == ['a', 'b']
    assert (found.img_suffix, found.seg_map_suffix) == ('.png', '.png')
    assert found.pixels[:, [0, 1, 255]].tolist() == [[6, 0, 0], [3, 2, 1]]
    assert found.labels(1).tolist() == [[1, 1, 0], [255, 0, 0]]


def test_split_is_seeded_and_leaves_out_what_shows_nothing(tmp_path):
    write_new(tmp_path, count=10)
    write_images(tmp_path, dict(nothing=np.zeros((8, 8), int)))
    found = find(tmp_path)
    train, held = found.split(0.2, seed=0)
    assert (len(train), len(held)) == (8, 2)
    assert sorted(train + held) == list(range(10))
    assert found.names[10] == 'nothing'
    assert found.split(0.2, seed=0) == (train, held)
    assert any(found.split(0.2, seed=s)[1] != held for s in range(1, 5))
    assert found.split(0, seed=0) == (list(range(10)), [])
    # At least one image is held out.
    assert len(found.split(0.01, seed=0)[1]) == 1
    for share, seed in [(-0.1, 0), (1.5, 0), (0.1, -1)]:
        with pytest.raises(ValueError, match='expected a share from 0 to 1'):
            found.split(share, seed)


def test_config_of_its_data_set(tmp_path):
    write_new(tmp_path)
    part = find(tmp_path, unlabeled=(0, 9), void=(254,)).dataset('list.txt')
    assert part['values'] == [['car', 1]]
    assert (part['unlabeled'], part['void']) == ([0, 9], [254])
    assert part['data_prefix']['img_path'] == str(tmp_path / 'images')


@pytest.mark.parametrize(
    'kwargs',
    [
        dict(classes=dict(car=1, bus=1)),
        dict(classes=dict(car=0)),
        dict(void=(1,)),
        dict(unlabeled=(0, 1)),
        dict(classes=dict(car=1, bus=255)),
    ],
    ids=str,
)
def test_a_value_means_one_thing(tmp_path, kwargs):
    write_new(tmp_path)
    with pytest.raises(ValueError, match="class '(car|bus)' is in --classes "):
        find(tmp_path, **kwargs)


def test_broken_pairs_get_a_sentence(tmp_path):
    """Before the network is asked about them."""
    write_new(tmp_path)
    mask, image = (tmp_path / f'{n}/5_0.png' for n in ('masks', 'images'))
    with Image.open(mask) as labels:
        labels.crop((0, 0, 40, 32)).save(mask)
    with pytest.raises(ValueError, match='5_0.png has 32 x 48 .* 32 x 40'):
        find(tmp_path)
    image.write_bytes(b'abc')
    with pytest.raises(ValueError, match='image .*5_0.png cannot be read'):
        find(tmp_path)


def test_bad_folders_get_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match='images: .* of 0 kinds, exp'):
        find(tmp_path)
    write_new(tmp_path)
    with pytest.raises(ValueError, match="no mask .* value 4 of .*'bus', on"):
        find(tmp_path, dict(car=1, bus=4))
    (tmp_path / 'masks/5_3.png').unlink()
    with pytest.raises(FileNotFoundError, match='5_3.png has no mask 5_3.png'):
        find(tmp_path)
    Image.new('RGB', (4, 4)).save(tmp_path / 'images/x.jpg')
    with pytest.raises(FileNotFoundError, match=r'2 kinds \(.jpg, .png\), ex'):
        find(tmp_path)
