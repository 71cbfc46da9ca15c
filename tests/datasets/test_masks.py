"""Masks that are read as they are, and those that cannot be."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mmseg_rbc.datasets.class_index import mask_labels
from mmseg_rbc.datasets.masks import check_palette, open_mask, read_mask

VALUES = np.array([[0, 15, 20], [255, 1, 0]], np.uint8)


def read(path: Path) -> list:
    with open_mask(str(path), str(path)) as mask:
        return np.array(mask).tolist()


def test_gray_and_palette_masks_hold_labels(tmp_path):
    gray = Image.fromarray(VALUES)
    gray.save(tmp_path / 'gray.png')
    assert read(tmp_path / 'gray.png') == VALUES.tolist()
    palette = gray.copy()
    palette.putpalette(list(range(256)) * 3)
    palette.save(tmp_path / 'palette.png')
    assert read(tmp_path / 'palette.png') == VALUES.tolist()
    data = BytesIO((tmp_path / 'gray.png').read_bytes())
    with open_mask(data, 'in memory') as mask:
        assert np.array(mask).tolist() == VALUES.tolist()


@pytest.mark.parametrize(
    'values, kind',
    [
        (np.zeros((2, 2, 3), np.uint8), 'RGB'),
        (np.zeros((2, 2), np.uint16), 'I;16'),
        (np.zeros((2, 2), bool), '1'),
    ],
)
def test_other_pixels_are_refused(tmp_path, values, kind):
    Image.fromarray(values).save(tmp_path / 'm.png')
    with pytest.raises(ValueError, match=f'has pixels of kind {kind}, expec'):
        read(tmp_path / 'm.png')


def test_file_that_is_no_mask(tmp_path):
    (tmp_path / 'm.png').write_bytes(b'no picture')
    with pytest.raises(ValueError, match=r'm\.png cannot be decoded'):
        read(tmp_path / 'm.png')
    with pytest.raises(FileNotFoundError):
        read(tmp_path / 'none.png')


def test_gray_masks_of_few_bits_are_refused(tmp_path):
    """Pillow would turn value 1 of a 4-bit mask into 17."""
    path = tmp_path / 'four.png'
    header = struct.pack('>IIBBBBB', 2, 1, 4, 0, 0, 0, 0)
    chunks = [
        (b'IHDR', header),
        (b'IDAT', zlib.compress(bytes([0, 0x12]))),
        (b'IEND', b''),
    ]
    png = b'\x89PNG\r\n\x1a\n'
    for name, data in chunks:
        check = struct.pack('>I', zlib.crc32(name + data))
        png += struct.pack('>I', len(data)) + name + data + check
    path.write_bytes(png)
    with pytest.raises(ValueError, match=r'four\.png has pixels of kind L;4'):
        mask_labels(str(path))


def test_truncated_mask_is_named(tmp_path):
    path = tmp_path / 'cut.png'
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 20, (80, 80)).astype(np.uint8)
    Image.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r'cut\.png cannot be decoded'):
        mask_labels(str(path))


def test_colors_are_label_values(tmp_path):
    """Of RGB masks, and of palette masks by the colors they show."""
    palette = [[0, 0, 0], [128, 64, 128], [0, 0, 1]]
    values = np.array([[0, 1, 2], [2, 1, 1]])
    colors = np.array(palette, np.uint8)[values]
    path = str(tmp_path / 'rgb.png')
    image = Image.fromarray(colors)
    image.save(path)
    assert read_mask(path, path, palette).tolist() == values.tolist()
    assert mask_labels(path, palette).nonzero()[0].tolist() == [0, 1, 2]
    image.quantize(8).save(path)
    assert read_mask(path, path, palette).tolist() == values.tolist()
    with pytest.raises(ValueError, match=r'holds the color \(128, 64, 128\),'):
        read_mask(path, path, [palette[0], palette[2]])
    image.save(path)
    with pytest.raises(ValueError, match='pixels of kind RGB.*mask_palette'):
        read_mask(path, path)


@pytest.mark.parametrize(
    'palette, sentence',
    [
        ([[0, 0]], 'expected a list of at most 255 colors'),
        ([[0, 0, 256]], 'expected a list of at most 255 colors'),
        ([[1, 2, 3], [1, 2, 3]], 'mask_palette has a color twice'),
    ],
)
def test_palette_that_is_none(palette, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_palette(palette)
    check_palette(None)
