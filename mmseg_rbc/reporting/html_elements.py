"""Elements of the page that :mod:`.report` writes.

Arguments are text unless they are called HTML, and are escaped.
"""

from __future__ import annotations

import base64
import math
import os.path as osp
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from . import plots

if TYPE_CHECKING:
    from typing import TypeGuard  # of Python 3.10


def section(title: str, content: str) -> str:
    """Return HTML content under a heading."""
    return f'<section><h2>{escape(title)}</h2>{content}</section>'


def chart(figure: Figure, name: str, out_dir: str) -> str:
    """Write a figure as PNG and return it as an element."""
    plots.to_png(figure, osp.join(out_dir, f'{name}.png'))
    return f'<div class="scroll chart">{plots.to_svg(figure)}</div>'


def picture(caption: str, path: str) -> str:
    """Return a PNG file as an element that holds it."""
    with open(path, 'rb') as file:
        data = base64.b64encode(file.read()).decode()
    return (
        f'<figure><div class=scroll><img alt="{escape(caption)}" '
        f'src="data:image/png;base64,{data}"></div>'
        f'<figcaption>{escape(caption)}</figcaption></figure>'
    )


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = ''
) -> str:
    """Return a table; the cells are HTML, the head is text."""
    top = ''.join(f'<th>{escape(name)}</th>' for name in head)
    body = ''.join(
        '<tr>'
        + ''.join(
            cell if cell.startswith('<td') else f'<td>{cell}</td>'
            for cell in row
        )
        + '</tr>'
        for row in rows
    )
    return (
        f'<div class=scroll><table class="{kind}"><thead><tr>{top}</tr>'
        f'</thead><tbody>{body}</tbody></table></div>'
    )


def heat_cell(value: float) -> str:
    """Return a cell of the heat map."""
    if math.isnan(value):
        return '<td></td>'
    return f'<td style="--v:{min(max(value, 0), 100):.0f}%">{value:.1f}</td>'


def swatch(index: int) -> str:
    """Return the color of the n-th run."""
    color = plots.line_style(index)['color']
    return f'<span class=swatch style="background:{color}"></span>'


def number(value: Mapping[str, Any]) -> str:
    """Return mean and deviation as HTML."""
    if math.isnan(value['mean']):
        return '-'
    text = f'{value["mean"]:.1f}'
    std = value['std']
    return text if math.isnan(std) else f'{text} <small>± {std:.1f}</small>'


def plain_number(value: float) -> str:
    """Return a number, or a dash for NaN."""
    return '-' if math.isnan(value) else f'{value:.1f}'


def duration(seconds: float) -> str:
    """Return a time to read."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f'{hours} h {minutes:02d} min'
    return f'{minutes} min {rest:02d} s' if minutes else f'{rest} s'


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def file_name(name: str) -> str:
    """Return a name that any file system takes."""
    return ''.join(c if c.isalnum() or c in '-_.' else '_' for c in name)


STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24;
  --soft: #5b6570; --line: #d9dee3; --hot: #2a9d62; --warn: #fff4d6;
  --card: #f7f8fa; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a;
  --ink: #e6e8ea; --soft: #9aa4ae; --line: #343a41; --hot: #2a9d62;
  --warn: #3a3118; --card: #1b1f23; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 72rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: .3rem 0; line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p.note, header p { color: var(--soft); font-size: .9rem; max-width: 46rem; }
aside { background: var(--warn); border-radius: .5rem; padding: .7rem 1rem;
  margin: 1rem 0; overflow-wrap: anywhere; }
aside ul { margin: .3rem 0 0; padding-left: 1.2rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--paper); }
table.heat td[style] { background: color-mix(in srgb,
  var(--hot) var(--v), var(--paper)); }
small { color: var(--soft); }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .5em;
  border-radius: .2em; }
.chart svg { width: 100%; min-width: 36rem; max-width: 52rem;
  height: auto; display: block; }
figure { margin: 0 0 1rem; }
figure img { max-width: none; background: #fff; }
figcaption { color: var(--soft); font-size: .9rem; }
details { border: 1px solid var(--line); border-radius: .5rem;
  padding: .4rem .8rem; margin: .5rem 0; background: var(--paper); }
summary { cursor: pointer; overflow-wrap: anywhere; }
pre { background: var(--card); padding: .8rem; font-size: .8rem; }
@media (max-width: 40rem) { body { padding: .8rem; }
  th, td { padding: .25rem .45rem; }
  td:first-child { max-width: 9rem; overflow: hidden;
    text-overflow: ellipsis; } }
"""


def page(title: str, task: str, num_runs: int, body: str) -> str:
    """Return the whole page around its HTML body."""
    runs = f'{num_runs} run' + ('' if num_runs == 1 else 's')
    about = f'{runs} of task {task}' if task else runs
    return (
        '<!doctype html>\n<html lang=en>\n<head><meta charset=utf-8>'
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><style>{STYLE}</style></head>\n'
        f'<body><header><h1>{escape(title)}</h1><p>{escape(about)}</p>'
        f'</header>\n{body}\n</body>\n</html>\n'
    )
