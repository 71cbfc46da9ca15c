"""Configs as literals."""

import pytest
from mmengine.config import Config

from mmseg_rbc.utils.literals import parse_literals


def test_what_mmengine_prints():
    content = dict(
        a=dict(b=[1, -2.5, None], c=('d', "it's"), e=True),
        f={'with space': dict(g=1e-4), 3: []},
        h='a\nb',
        i=dict(),
        j=[dict(type='A', k=(1, 2)), dict(type='B')],
        l=[float('inf'), -float('inf')],
    )
    for formatted in (True, False):
        cfg = Config(content, format_python_code=formatted)
        assert parse_literals(cfg.pretty_text) == cfg.to_dict()


@pytest.mark.parametrize(
    'text',
    [
        'import os',
        'a = open("x")',
        'a = dict(b=__import__("os"))',
        'a = [x for x in ()]',
        'a.b = 1',
        'a = dict(**{})',
        'a = dict([1])',
        'def f(): pass',
    ],
)
def test_anything_else_raises(text):
    with pytest.raises(ValueError):
        parse_literals(text)


@pytest.mark.parametrize('key', ["a': f(), 'b", 'a\\', 'a\n', ("a'",), b'a'])
def test_keys_that_would_be_code_when_they_are_printed(key, tmp_path):
    """MMEngine does not escape keys; the first one is a call."""
    with pytest.raises(ValueError, match='is no plain text'):
        parse_literals(f'a = {{{key!r}: 1}}')
    with pytest.raises(ValueError, match='is no plain text'):
        parse_literals(f'a = dict({{{key!r}: 1}})')
    assert Config(dict(a={"a': f(), 'b": 1})).pretty_text.count('f()') == 1


def test_other_keys():
    assert parse_literals('a = {1: 2, "b.c": 3, 0.5: 4}')['a'] == {
        1: 2,
        'b.c': 3,
        0.5: 4,
    }
