"""Numbers of the RBC paper (ECCV 2022, tables of VOC), to compare with.

mIoU of old, new and all classes after the last step, by task and setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Numbers = tuple[float, float, float]

# What the paper trained with; anything else is another experiment.
CONDITIONS = dict(
    dataset='ContinualVOCDataset',
    crop_size=[512, 512],
    backbone='ResNet-101',
    head='ASPPHead',
)
METHODS = [
    'ft',
    'pi',
    'ewc',
    'rw',
    'lwf',
    'lwf-mc',
    'ilt',
    'mib',
    'plop',
    'rbc',
    'joint',
]
_ROWS: dict[tuple[str, str], list[Numbers]] = {
    ('19-1', 'overlapped'): [
        (6.8, 12.9, 7.1),
        (7.5, 14.0, 7.8),
        (26.9, 14.0, 26.3),
        (23.3, 14.2, 22.9),
        (51.2, 8.5, 49.1),
        (64.4, 13.3, 61.9),
        (67.75, 10.88, 65.05),
        (71.43, 23.59, 69.15),
        (75.35, 37.35, 73.54),
        (77.26, 55.60, 76.23),
        (77.4, 78.0, 77.4),
    ],
    ('15-5', 'overlapped'): [
        (2.1, 33.1, 9.8),
        (1.6, 33.3, 9.5),
        (24.3, 35.5, 27.1),
        (16.6, 34.9, 21.2),
        (58.9, 36.6, 53.3),
        (58.1, 35.0, 52.3),
        (67.08, 39.23, 60.45),
        (76.37, 49.97, 70.08),
        (75.73, 51.71, 70.09),
        (76.59, 52.78, 70.92),
        (79.1, 72.56, 77.39),
    ],
    ('15-1', 'overlapped'): [
        (0.2, 1.8, 0.6),
        (0.0, 1.8, 0.5),
        (0.3, 4.3, 1.3),
        (0.0, 5.2, 1.3),
        (1.0, 3.9, 1.8),
        (6.4, 8.4, 6.9),
        (8.75, 7.99, 8.56),
        (34.22, 13.50, 29.29),
        (65.12, 21.11, 54.64),
        (69.54, 38.44, 62.14),
        (79.1, 72.56, 77.39),
    ],
    ('19-1', 'disjoint'): [
        (5.8, 12.3, 6.2),
        (5.4, 14.1, 5.9),
        (23.2, 16.0, 22.9),
        (19.4, 15.7, 19.2),
        (53.0, 9.1, 50.8),
        (63.0, 13.2, 60.5),
        (69.1, 16.4, 66.4),
        (69.6, 25.6, 67.4),
        (75.37, 38.89, 73.64),
        (76.43, 45.79, 75.01),
        (77.4, 78.0, 77.4),
    ],
    ('15-5', 'disjoint'): [
        (1.1, 33.6, 9.2),
        (1.3, 34.1, 9.5),
        (26.7, 37.7, 29.4),
        (17.9, 36.9, 22.7),
        (58.4, 37.4, 53.1),
        (67.2, 41.2, 60.7),
        (63.2, 39.5, 57.3),
        (71.8, 43.3, 64.7),
        (71.00, 42.82, 64.29),
        (75.12, 49.71, 69.89),
        (79.1, 72.56, 77.39),
    ],
    ('15-1', 'disjoint'): [
        (0.2, 1.8, 0.6),
        (0.0, 1.8, 0.4),
        (0.3, 4.3, 1.3),
        (0.8, 3.6, 1.3),
        (0.8, 3.6, 1.5),
        (4.5, 7.0, 5.2),
        (3.7, 5.7, 4.2),
        (46.2, 12.9, 37.9),
        (57.86, 13.67, 46.48),
        (61.68, 19.52, 51.60),
        (79.1, 72.56, 77.39),
    ],
}


def paper_numbers(
    method: str, task: str | None, setting: str | None
) -> Numbers | None:
    """Return mIoU old, new and all of the paper, None without a row."""
    rows = _ROWS.get((str(task), str(setting)))
    return rows[METHODS.index(method)] if rows and method in METHODS else None


def same_conditions(found: Mapping[str, Any] | None) -> bool:
    """Whether data, size and network of a run are those of the paper."""
    found = found or {}
    return all(
        value == (list(v) if isinstance(v := found.get(key), tuple) else v)
        for key, value in CONDITIONS.items()
    )
