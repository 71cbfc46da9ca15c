"""The orders in which classes are learned."""

from __future__ import annotations

from collections.abc import Sequence

# The class orders that papers report for VOC 15-1, by their usual letter.
VOC_ORDERS = dict(
    a=tuple(range(1, 21)),
    b=(12, 9, 20, 7, 15, 8, 14, 16, 5, 19, 4, 1, 13, 2, 11, 17, 3, 6, 18, 10),
    c=(13, 19, 15, 17, 9, 8, 5, 20, 4, 3, 10, 11, 18, 16, 7, 12, 14, 6, 1, 2),
    d=(15, 3, 2, 12, 14, 18, 20, 16, 11, 1, 19, 8, 10, 7, 17, 6, 5, 13, 9, 4),
    e=(7, 5, 3, 9, 13, 12, 14, 19, 10, 2, 1, 4, 16, 8, 17, 15, 18, 6, 11, 20),
    f=(7, 13, 5, 11, 9, 2, 15, 12, 14, 3, 20, 1, 16, 4, 18, 8, 6, 10, 19, 17),
    g=(7, 5, 9, 1, 15, 18, 14, 3, 20, 10, 4, 19, 11, 17, 16, 12, 8, 6, 2, 13),
    h=(12, 9, 19, 6, 4, 10, 5, 18, 14, 15, 16, 3, 8, 7, 11, 13, 2, 20, 17, 1),
    i=(13, 10, 15, 8, 7, 19, 4, 3, 16, 12, 14, 11, 5, 20, 6, 2, 18, 9, 17, 1),
    j=(1, 14, 9, 5, 2, 15, 8, 20, 6, 16, 18, 7, 11, 10, 19, 3, 4, 17, 12, 13),
    k=(16, 13, 1, 11, 12, 18, 6, 14, 5, 3, 7, 9, 20, 19, 15, 4, 2, 10, 8, 17),
    l=(10, 7, 6, 19, 16, 8, 17, 1, 14, 4, 9, 3, 15, 11, 12, 2, 18, 20, 13, 5),
    m=(18, 4, 14, 17, 12, 10, 7, 3, 9, 1, 8, 15, 6, 13, 2, 5, 11, 20, 16, 19),
    n=(5, 4, 13, 18, 14, 10, 19, 15, 7, 9, 3, 2, 8, 16, 20, 1, 12, 11, 6, 17),
    o=(9, 12, 13, 18, 7, 1, 15, 17, 10, 8, 4, 5, 20, 16, 6, 14, 19, 11, 2, 3),
    p=(9, 12, 13, 18, 2, 11, 15, 17, 10, 8, 4, 5, 20, 16, 6, 14, 19, 1, 7, 3),
    q=(3, 14, 13, 18, 2, 11, 15, 17, 10, 8, 4, 5, 20, 16, 6, 12, 19, 1, 7, 9),
    r=(3, 14, 13, 1, 2, 11, 15, 17, 7, 8, 4, 5, 9, 16, 19, 12, 6, 18, 10, 20),
    s=(3, 14, 6, 1, 2, 11, 12, 17, 7, 20, 4, 5, 9, 16, 19, 15, 13, 18, 10, 8),
    t=(3, 15, 13, 1, 2, 11, 18, 17, 7, 20, 8, 5, 9, 16, 19, 14, 6, 12, 10, 4),
    u=(3, 15, 13, 14, 6, 11, 18, 17, 7, 20, 8, 4, 9, 16, 10, 1, 2, 12, 19, 5),
    v=(1, 2, 12, 14, 6, 19, 18, 17, 5, 20, 8, 4, 9, 16, 10, 3, 15, 13, 11, 7),
    w=(1, 2, 12, 14, 13, 19, 18, 7, 11, 20, 8, 4, 9, 16, 10, 3, 15, 6, 5, 17),
)  # fmt: skip


def resolve_order(
    order: str | Sequence[int] | None, num_foreground: int
) -> tuple[int, ...]:
    """Return the order of the foreground ids as a checked permutation."""
    identity = tuple(range(1, num_foreground + 1))
    if order is None:
        return identity
    if isinstance(order, str):
        if order not in VOC_ORDERS:
            raise ValueError(
                f'order {order!r} is unknown: give a letter from a to '
                f'{max(VOC_ORDERS)} or a permutation of 1 to {num_foreground}'
            )
        order = VOC_ORDERS[order]
    ids = tuple(order)
    if sorted(ids) != list(identity):
        odd = sorted(set(ids) ^ set(identity)) or duplicates(ids)
        raise ValueError(
            f'order must hold each of 1 to {num_foreground} once, but '
            f'{odd} {"are" if len(odd) > 1 else "is"} missing, repeated or '
            'out of range'
        )
    return ids


def duplicates(items: Sequence) -> list:
    """Return the items that occur more than once."""
    return [item for i, item in enumerate(items) if item in items[:i]]
