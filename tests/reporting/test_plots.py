"""Figures: what is in them, and what their files look like."""

import math
import re

import numpy as np
from PIL import Image

from mmseg_rbc.reporting import plots


def test_styles_repeat_late():
    styles = [tuple(plots.line_style(i).values()) for i in range(28)]
    assert len(set(styles)) == 28 and styles[0] == ('#4477AA', '-')
    assert plots.line_style(28) == plots.line_style(0)
    assert plots.line_style(8) == dict(color='#EE6677', linestyle='--')


def test_curves():
    curves = dict(rbc=[50, 40, 30], ft=[50, 20], joint=[70])
    figure = plots.draw_curves(curves, ['joint'], dict(rbc=62.0))
    (axes,) = figure.axes
    rbc, star, ft, joint = axes.lines
    assert rbc.get_xydata().tolist() == [[0, 50], [1, 40], [2, 30]]
    assert star.get_xydata().tolist() == [[2, 62]]
    assert star.get_marker() == '*' and star.get_color() == rbc.get_color()
    assert ft.get_xydata().tolist() == [[0, 50], [1, 20]]
    assert joint.get_ydata() == [70, 70], 'a level'
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ['rbc', 'ft', 'joint']
    assert axes.get_xticks().tolist() == [0, 1, 2]


def test_losses():
    figure = plots.draw_losses(dict(a=[(0.5, 2.0), (1.0, 0.1)], b=[]))
    (axes,) = figure.axes
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[0.5, 2], [1, 0.1]]
    assert axes.get_yscale() == 'log'


def test_heat_map():
    matrix = np.array([[10.4, math.nan], [90.6, 50]])
    figure = plots.draw_heat_map(matrix, ['a', 'b'], ['0', '1'], 't', 'IoU')
    axes = figure.axes[0]
    cells = {
        text.get_position()[::-1]: (text.get_text(), text.get_color())
        for text in axes.texts
    }
    assert cells == {
        (0, 0): ('10', 'white'),
        (1, 0): ('91', 'black'),
        (1, 1): ('50', 'black'),
    }
    assert axes.images[0].get_clim() == (0, 100)
    assert [text.get_text() for text in axes.get_yticklabels()] == ['a', 'b']


def test_bars():
    values = dict(a=[3.0, math.nan], b=[-1.0, 2.0])
    figure = plots.draw_bars(
        values, ['cat', 'dog'], 'lost', dict.fromkeys(values, '#228833')
    )
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [3, 0, -1, 2]
    # Bars of a row lie beside each other, around its number.
    edges = [(bar.get_y(), bar.get_height()) for bar in axes.patches]
    expected = [(-0.4, 0.4), (0.6, 0.4), (0, 0.4), (1, 0.4)]
    np.testing.assert_allclose(edges, expected, atol=1e-9)
    assert axes.yaxis_inverted()


def test_svg_has_escaped_text_in_the_color_of_the_page():
    name = '<script>$x_1$&"'
    svg = plots.to_svg(plots.draw_curves({name: [1, 2]}, [], {}))
    assert svg.startswith('<svg') and svg.endswith('</svg>\n')
    assert re.search('<text[^>]*>&lt;script&gt;\\$x_1\\$&amp;"</text>', svg)
    assert '<script>' not in svg
    assert 'currentColor' in svg and plots.INK not in svg
    assert '<metadata>' not in svg


def test_png_is_on_white(tmp_path):
    path = tmp_path / 'a.png'
    plots.to_png(plots.draw_bars({}, [], 'nothing', {}), str(path))
    with Image.open(path) as image:
        assert image.width == 770
        assert image.convert('RGB').getpixel((0, 0)) == (255, 255, 255)
