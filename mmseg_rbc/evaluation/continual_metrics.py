"""What a continual run learned and forgot, from its IoU of each step.

Pure functions of a class x step matrix M in per cent, NaN where a class is
not learned yet or has no pixels.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

GROUPS = ('old', 'new', 'all')


def iou_matrix(
    steps: Sequence[Mapping[str, float | None]],
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Arrange the IoU of every step.

    Args:
        steps: IoU by class name, one mapping for each of T steps, an empty
            one for a step whose result is missing.

    Returns:
        The C class names in the order of the network, M ``(C, T)``, and the
        step ``(C,)`` in which each class is first known.
    """
    longest: Mapping[str, float | None] = {}
    for step in steps:
        longest = max(longest, step, key=len)
    classes = list(longest)
    matrix = np.full((len(classes), len(steps)), np.nan)
    first = np.full(len(classes), len(steps))
    for c, name in enumerate(classes):
        for t, step in enumerate(steps):
            if name in step:
                first[c] = min(first[c], t)
                value = step[name]
                matrix[c, t] = np.nan if value is None else value
    return classes, matrix, first


def group_means(
    matrix: np.ndarray, num_base: int, background: bool = True
) -> dict[str, np.ndarray]:
    """Return the mean IoU of each group in each step.

    Args:
        matrix: M.
        num_base: Classes of group ``old``, which come first.
        background: Whether class 0 counts.

    Returns:
        ``(T,)`` for each group, NaN where no class of it is known.
    """
    start = 0 if background else 1
    rows = dict(
        old=matrix[start:num_base], new=matrix[num_base:], all=matrix[start:]
    )
    return {name: mean(values, axis=0) for name, values in rows.items()}


def mean(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Return the mean of what is known, NaN if nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', RuntimeWarning)
        return np.nanmean(values, axis=axis)


def forgetting(matrix: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return how much of each class was lost: ``M[c, first] - M[c, end]``.

    The backward transfer of a class is the negative of it.

    Returns:
        ``(C,)``, NaN for the classes of the last step.
    """
    last = matrix.shape[1] - 1
    lost = np.full(len(matrix), np.nan)
    for c, t in enumerate(first):
        if t < last:
            lost[c] = matrix[c, t] - matrix[c, last]
    return lost


def context_change(
    classes: Sequence[str],
    matrix: np.ndarray,
    shown: Sequence[Collection[str] | None],
) -> list[dict[str, Any]]:
    """Compare old classes beside new ones with those that are absent.

    RBC's concern is the context of an old class that the images of a step
    show; a class that they do not show is forgotten for other reasons.

    Args:
        classes: The C class names, background first.
        matrix: M, ``(C, T)``.
        shown: For each step the old classes that its training images show,
            None if that is not known.

    Returns:
        For each step from 1 on that is known: ``step``, and for ``shown`` and
        ``absent`` the ``classes``, and their mean IoU ``before`` and
        ``after`` the step (NaN without any).
    """
    changes = []
    for step in range(1, matrix.shape[1]):
        names = shown[step] if step < len(shown) else None
        if names is None:
            continue
        is_old = ~np.isnan(matrix[:, step - 1])
        is_old[0] = False
        is_shown = np.array([name in names for name in classes])
        parts = dict(shown=is_old & is_shown, absent=is_old & ~is_shown)
        change: dict[str, Any] = dict(step=step)
        for part, rows in parts.items():
            change[part] = dict(
                classes=[c for c, chosen in zip(classes, rows) if chosen],
                before=float(mean(matrix[rows, step - 1])),
                after=float(mean(matrix[rows, step])),
            )
        changes.append(change)
    return changes


def harmonic_mean(old: float, new: float) -> float:
    """Return ``2 old new / (old + new)``, 0 if both are 0."""
    total = old + new
    return 2 * old * new / total if total else 0.0


def summarize(
    matrix: np.ndarray,
    first: np.ndarray,
    num_base: int,
    background: bool = True,
) -> dict[str, float]:
    """Return the numbers of one run.

    Returns:
        mIoU after the last step of ``old``, ``new`` and ``all``; ``mean``,
        the mean over steps of ``all``; ``forgetting``, the mean over classes
        learned before the last step, and ``transfer``, its negative;
        ``harmonic``, the harmonic mean of old and new.
    """
    groups = group_means(matrix, num_base, background)
    start = 0 if background else 1
    lost = float(mean(forgetting(matrix, first)[start:]))
    result = {name: float(values[-1]) for name, values in groups.items()}
    return dict(
        result,
        mean=float(mean(groups['all'])),
        forgetting=lost,
        transfer=-lost,
        harmonic=harmonic_mean(result['old'], result['new']),
    )


def over_seeds(runs: Sequence[Mapping[str, float]]) -> dict[str, dict]:
    """Return ``mean`` and ``std`` of every number over runs, and ``values``.

    A number that is NaN in a run is left out; ``std`` is NaN for one value.
    """
    table = {}
    for key in dict.fromkeys(key for run in runs for key in run):
        found = [run[key] for run in runs if key in run]
        values = np.array([v for v in found if not math.isnan(v)])
        table[key] = dict(
            mean=float(values.mean()) if len(values) else math.nan,
            std=float(values.std(ddof=1)) if len(values) > 1 else math.nan,
            values=values.tolist(),
        )
    return table
