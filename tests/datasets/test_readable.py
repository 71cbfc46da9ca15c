"""Broken images and masks are found before training, in a sentence."""

import io
from pathlib import Path

import cv2
import mmcv
import numpy as np
import pytest
from mmengine.logging import MMLogger
from mmseg.registry import DATASETS
from PIL import Image

from mmseg_rbc.datasets.readable import (
    check_readable,
    find_unreadable,
    pair_problem,
)

SIZE = (24, 16)


def jpeg(
    size: tuple[int, int] = SIZE, orientation: int | None = None
) -> bytes:
    noise = np.random.default_rng(0).integers(0, 255, (*size[::-1], 3))
    image = Image.fromarray(noise.astype(np.uint8))
    exif = Image.Exif()
    if orientation:
        exif[274] = orientation
    file = io.BytesIO()
    image.save(file, 'JPEG', exif=exif)
    return file.getvalue()


def png(size: tuple[int, int] = SIZE, mode: str = 'L') -> bytes:
    file = io.BytesIO()
    Image.new(mode, size).save(file, 'PNG')
    return file.getvalue()


@pytest.fixture
def pair(tmp_path):
    def write(image: bytes, mask: bytes, name: str = 'a') -> tuple[str, str]:
        paths = tmp_path / f'{name}.jpg', tmp_path / f'{name}.png'
        for path, content in zip(paths, (image, mask)):
            path.write_bytes(content)
        return str(paths[0]), str(paths[1])

    return write


BAD = [
    (b'', png(), r'^image .*a.jpg cannot be read \(the file is empty\): rest'),
    (b'GIF?' * 99, png(), '^image .*a.jpg cannot be read .cannot identify'),
    (jpeg()[:-200], png(), r'^image .* cannot be read \(image file is trunc'),
    (jpeg()[:30], png(), '^image .*a.jpg cannot be read'),
    (jpeg(), b'', r'^mask .*a.png cannot be read \(the file is empty\)'),
    (jpeg(), b'P5' * 99, '^mask .*a.png cannot be read'),
    (jpeg(), png((512, 512))[:-30], '^mask .*a.png cannot be read'),
    (jpeg(), png(mode='RGB'), '^mask .* has pixels of kind RGB, expected one'),
    (
        jpeg(),
        png((16, 24)),
        r'a.jpg has 16 x 24 pixels, but its mask .*a.png has 24 x 16: they mu',
    ),
    (
        jpeg(orientation=6),
        png(),
        r'a.jpg has 24 x 16 pixels when it is turned by its EXIF orientation, '
        r'6, but its mask .* has 16 x 24',
    ),
    (
        jpeg(orientation=3),
        png(),
        'a.jpg is turned by its EXIF orientation, 3, and nothing tells whethe',
    ),
    (
        jpeg((16, 16), orientation=8),
        png((16, 16)),
        'a.jpg is turned by its EXIF orientation, 8, and nothing tells whethe',
    ),
]


@pytest.mark.parametrize('image, mask, sentence', BAD)
def test_broken_pair(pair, image, mask, sentence):
    paths = pair(image, mask)
    with pytest.raises(ValueError, match=sentence) as info:
        check_readable([pair(jpeg(), png(), 'good'), paths])
    assert '(1 of 2 images have such a problem; cont' in str(info.value)
    assert str(info.value).startswith(str(pair_problem(*paths)))


@pytest.mark.parametrize(
    'image, mask',
    [
        (jpeg(), png()),
        (jpeg(), png(mode='P')),
        (jpeg() + b'\0' * 20, png()),
        (jpeg() + b'x' * 500, png()),
        (jpeg(orientation=1), png()),
        (png(mode='RGB'), png()),
        # The mask of a photo that was turned.
        (jpeg(orientation=6), png((16, 24))),
    ],
)
def test_good_pair(pair, image, mask):
    assert pair_problem(*pair(image, mask)) is None


def test_a_photo_is_read_upright(pair):
    """What the check takes for granted of mmcv."""
    path, _ = pair(jpeg(orientation=6), b'')
    assert mmcv.imread(path).shape == (24, 16, 3)
    stored = cv2.imread(path, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    assert stored.shape == (16, 24, 3)


def test_many_files_are_looked_at_once(pair, tmp_path):
    pairs = [pair(jpeg(), png(), f'i{i}') for i in range(150)]
    Path(pairs[140][0]).write_bytes(b'')
    assert list(find_unreadable(pairs, 2)) == [140]
    (cache,) = tmp_path.glob('.mmseg_rbc/headers-*.npz')
    stamp = cache.stat().st_mtime_ns
    assert list(find_unreadable(pairs, 2)) == [140]
    assert cache.stat().st_mtime_ns == stamp
    Path(pairs[140][0]).write_bytes(jpeg())
    assert find_unreadable(pairs, 2) == {}
    assert cache.stat().st_mtime_ns != stamp
    assert find_unreadable([]) == {}


def build(root: Path, **kwargs):
    names = ['background', 'cat', 'dog']
    config = dict(
        type='ContinualDataset',
        data_root=str(root),
        data_prefix=dict(
            img_path='JPEGImages', seg_map_path='SegmentationClassAug'
        ),
        ann_file='list.txt',
        metainfo=dict(classes=names),
        task=[['cat'], ['dog']],
        pipeline=[],
    )
    return DATASETS.build(dict(config, **kwargs))


def test_skipped_files(write_data, capsys):
    """By the rule of a setting, and by a published split."""
    masks = {name: np.full((4, 6), 1) for name in 'abcd'}
    root = write_data({**masks, 'e': np.full((4, 6), 2)})
    (root / 'JPEGImages/b.jpg').write_bytes(b'')
    (root / 'SegmentationClassAug/d.png').write_bytes(b'no')
    np.save(root / 'train-0.npy', [0, 3, 2])
    with pytest.raises(ValueError, match='d.png cannot be decoded'):
        build(root)
    MMLogger.get_instance('readable', log_level='INFO')
    for kwargs, number in [({}, 2), (dict(split_dir=str(root)), 1)]:
        data = build(root, skip_unreadable=True, **kwargs)
        names = [Path(data.get_data_info(i)['img_path']).stem for i in (0, 1)]
        assert names == ['a', 'c'] and len(data) == 2
        assert data.num_skipped == number
    assert build(root, skip_unreadable=True, step=1).num_skipped == 2
    assert 'left out: image ' in ''.join(capsys.readouterr())


def test_damage_inside_a_jpeg_is_decoded_without_a_word(pair):
    """What docs/faults.md says of it: the format has no checksum."""
    whole = bytearray(jpeg((64, 64)))
    damaged = bytearray(whole)
    middle = len(damaged) // 2
    damaged[middle : middle + 8] = bytes(8)
    image, mask = pair(bytes(damaged), png((64, 64)))
    assert pair_problem(image, mask) is None
    found, expected = (
        mmcv.imfrombytes(bytes(content)).astype(int)
        for content in (damaged, whole)
    )
    is_wrong = (found != expected).any(2)
    assert found.shape == expected.shape and not is_wrong[:8].any()
    assert is_wrong.mean() > 0.1, 'from the damage on'
