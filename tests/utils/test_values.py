import math

import pytest

from mmseg_rbc.utils.values import check_number, check_switch


@pytest.mark.parametrize(
    'value, limits, sentence',
    [
        ('abc', {}, "^a.b is 'abc', expected a number$"),
        (None, {}, '^a.b is None, expected a number$'),
        (True, {}, '^a.b is True, expected a number$'),
        (math.nan, {}, '^a.b is nan, expected a number$'),
        (
            math.inf,
            dict(low=0),
            '^a.b is inf, expected a number of at least 0',
        ),
        (-1, dict(low=0), '^a.b is -1, expected a number of at least 0$'),
        (0, dict(low=0, above=True), '^a.b is 0, expected a number above 0$'),
        (1.5, dict(whole=True), '^a.b is 1.5, expected a whole number$'),
        (
            9,
            dict(low=0, high=8, whole=True),
            '^a.b is 9, expected a whole number of at least 0 and at most 8$',
        ),
    ],
)
def test_value_that_is_no_such_number(value, limits, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_number(value, 'a.b', **limits)


def test_numbers():
    check_number(0, 'a', 0)
    check_number(8, 'a', 0, 8, whole=True)
    check_number(1e-9, 'a', 0, above=True)


def test_switch():
    check_switch(False, 'a')
    for value in (1, 'yes', None):
        with pytest.raises(ValueError, match=f'^a is {value!r}, exp.* or Fal'):
            check_switch(value, 'a')
