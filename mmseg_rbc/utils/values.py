"""Check values of configs, before they reach a computation."""

from __future__ import annotations

import math
from typing import Any


def check_number(
    value: Any,
    where: str,
    low: float = -math.inf,
    high: float = math.inf,
    above: bool = False,
    whole: bool = False,
) -> None:
    """Raise unless a value is a finite number in a range.

    Args:
        value: What a config holds.
        where: Its place in the config, such as ``schedule.base.lr``.
        low: The smallest allowed value.
        high: The largest allowed value.
        above: Whether ``low`` itself is too small.
        whole: Whether it must be an integer.
    """
    kinds = int if whole else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    is_finite = is_number and math.isfinite(value)
    if is_finite and low <= value <= high and not (above and value == low):
        return
    what = 'a whole number' if whole else 'a number'
    if low > -math.inf:
        what += f' above {low}' if above else f' of at least {low}'
    if high < math.inf:
        what += f' and at most {high}'
    raise ValueError(f'{where} is {value!r}, expected {what}')


def check_switch(value: Any, where: str) -> None:
    """Raise unless a value is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f'{where} is {value!r}, expected True or False')
