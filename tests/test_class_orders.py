import hashlib

import pytest

from mmseg_rbc.class_orders import VOC_ORDERS, duplicates, resolve_order


def test_orders_of_the_papers():
    """23 orders as published; the digest was made from their list."""
    assert ''.join(VOC_ORDERS) == 'abcdefghijklmnopqrstuvw'
    assert all(sorted(o) == list(range(1, 21)) for o in VOC_ORDERS.values())
    text = str(sorted(VOC_ORDERS.items())).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == 'fc342ba6cfc2907c'
    assert VOC_ORDERS['a'] == tuple(range(1, 21))
    assert VOC_ORDERS['b'][15:] == (17, 3, 6, 18, 10)


def test_order_by_letter_or_list():
    assert resolve_order(None, 4) == (1, 2, 3, 4)
    assert resolve_order([3, 1, 2], 3) == (3, 1, 2)
    assert resolve_order('w', 20) == VOC_ORDERS['w']


@pytest.mark.parametrize(
    'order, sentence',
    [
        ('z', "order 'z' is unknown: give a letter from a to w or a perm"),
        ('aa', "order 'aa' is unknown"),
        ([1, 2], r'each of 1 to 3 once, but \[3\] is missing'),
        ([1, 2, 2], r'\[3\] is missing'),
        ([1, 2, 3, 3], r'\[3\] is missing, repeated'),
        ([0, 1, 2], r'\[0, 3\] are missing, repeated or out of range'),
        ('b', r'\[4, 5, 6, .*20\] are missing, repeated or out of range'),
    ],
)
def test_what_is_no_order_of_three(order, sentence):
    with pytest.raises(ValueError, match=sentence):
        resolve_order(order, 3)


def test_duplicates():
    assert duplicates('abcab') == ['a', 'b']
    assert duplicates([1, 2, 1, 1]) == [1, 1]
    assert duplicates([]) == []
