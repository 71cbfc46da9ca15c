"""Pictures of labels over an image."""

import numpy as np

from mmseg_rbc.visualization import blend, draw_legend, draw_overlay

PALETTE = np.array([(0, 0, 0), (200, 0, 0), (0, 100, 0)], np.uint8)


def test_blend():
    image = np.full((1, 4, 3), 100, np.uint8)
    labels = np.array([[0, 1, 2, 255]], np.uint8)
    mixed = blend(image, labels, PALETTE, 0.6)
    assert mixed.dtype == np.uint8
    assert mixed[0].tolist() == [
        [100, 100, 100],
        # 0.4 * 100 + 0.6 * (200, 0, 0)
        [160, 40, 40],
        [40, 100, 40],
        [100, 100, 100],
    ]


def test_limits_of_opacity():
    image = np.full((1, 1, 3), 7, np.uint8)
    labels = np.ones((1, 1), np.uint8)
    assert (blend(image, labels, PALETTE, 0) == image).all()
    assert blend(image, labels, PALETTE, 1)[0, 0].tolist() == [200, 0, 0]


def test_overlay():
    image = np.full((20, 60, 3), 100, np.uint8)
    labels = np.zeros((20, 60), np.uint8)
    labels[:, 30:] = 2
    labels[0] = 255
    pixels = np.array(draw_overlay(image, labels, ['bg', 'a', 'b'], PALETTE))
    assert pixels.shape == (20 + 6 + 16, 60 + 6 + 60, 3)
    assert (pixels[:20, :60] == image).all()
    assert (pixels[:20, 60:66] == 255).all(), 'a gap'
    assert (pixels[:20, 66:] == blend(image, labels, PALETTE)).all()
    legend = pixels[26:]
    colors = {tuple(color) for color in legend.reshape(-1, 3).tolist()}
    assert {(0, 0, 0), (0, 100, 0)} <= colors, 'what is there'
    assert (200, 0, 0) not in colors, 'what is not there'


def test_legend_breaks_lines():
    colors = {f'class {i}': (i, 0, 200) for i in range(6)}
    one, many = draw_legend(colors, 1000), draw_legend(colors, 150)
    assert one.size == (1000, 16)
    assert many.width == 150 and many.height == 16 * 3
    for legend in (one, many):
        found = {color for _, color in legend.getcolors()}
        assert set(colors.values()) <= found
    assert draw_legend(dict(long=(1, 2, 3)), 10).size == (10, 16)
    assert draw_legend({}, 10).getcolors() == [(160, (255, 255, 255))]
