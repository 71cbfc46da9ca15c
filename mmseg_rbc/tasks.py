"""Continual tasks: which classes are learned at which step.

Pure Python, no torch: a :class:`Task` can be made, printed and hashed
anywhere. Class ids are those of the data set (0 is background); the *network
index* of a class is its position in ``[0] + old ids + new ids``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .class_orders import duplicates, resolve_order

BACKGROUND = 0
IGNORE_INDEX = 255
# Class 0 of data without background: no class, and in no mean.
NOT_LEARNED = 'not learned yet'
# 254 marks an unknown label in look-up tables and 255 means ignore.
MAX_CLASSES = 254

# Other spellings in published code: MiB writes "s" for one class at a time.
ALIASES = {'joint': 'offline', '15-5s': '15-1'}

Steps = tuple[tuple[int, ...], ...]


def is_background(name: str) -> bool:
    """Whether a class 0 of this name is the rest, and no class of its own.

    That of a stock network may be one: of Cityscapes it is road.
    """
    return name.lower() in ('background', NOT_LEARNED)


@dataclass(frozen=True)
class Task:
    """The classes of every continual step.

    ``num_old`` and all results count background, which belongs to step 0.

    Args:
        name: Short name, such as ``15-1``.
        steps: Foreground class ids of every step, in the order in which the
            network learns them.
        num_classes: Classes of the data set, background included. Classes in
            no step are never learned and stay background.

    Example:
        >>> task = Task.parse('15-1', num_classes=21)
        >>> print(task)
        task 15-1: 6 steps of 15, 1, 1, 1, 1, 1 of 20 foreground classes
        >>> task.new(2), len(task.old(2))
        ((17,), 17)
    """

    name: str
    steps: Steps
    num_classes: int

    def __post_init__(self) -> None:
        _check_steps(self.name, self.steps, self.num_classes)

    @classmethod
    def make(
        cls,
        task: str | Sequence[Sequence[str | int]],
        classes: Sequence[str],
        order: str | Sequence[int | str] | None = None,
    ) -> Task:
        """Make a task from what a config holds.

        Args:
            task: ``'offline'``, ``'B-N'``, or the classes of every step by
                name or id.
            classes: Class names of the data set, background first.
            order: See :meth:`parse`; also by names, and only for a task given
                as text.
        """
        if isinstance(task, str):
            if order is None or isinstance(order, str):
                return cls.parse(task, len(classes), order)
            if not isinstance(order, Sequence):
                raise ValueError(
                    f'order {order!r} is neither a letter such as "a" nor a '
                    'list of all foreground classes by name or id'
                )
            ids = {name: i for i, name in enumerate(classes)}
            named = [_class_id(c, ids) for c in order]
            return cls.parse(task, len(classes), named)
        if not isinstance(task, Sequence):
            raise ValueError(
                f'task {task!r} is neither text such as "15-1" nor a list of '
                'class names for every step'
            )
        if order is not None:
            raise ValueError(
                'order goes with a task such as "15-1", but the steps of this '
                'task are listed class by class: drop order, or list the '
                'classes in the order you want'
            )
        return cls.from_names(task, classes)

    @classmethod
    def parse(
        cls,
        name: str,
        num_classes: int,
        order: str | Sequence[int] | None = None,
    ) -> Task:
        """Make ``offline`` or any ``B-N``: B classes first, then N a step.

        The last step may be smaller.

        Args:
            name: ``'offline'`` (all classes at once, Joint) or ``'B-N'``.
            num_classes: Classes of the data set, background included.
            order: A permutation of the foreground ids, or the letter of one
                of :data:`.VOC_ORDERS`. Defaults to increasing ids.
        """
        ids = resolve_order(order, num_classes - 1)
        name = ALIASES.get(name, name)
        if name == 'offline':
            return cls(name, (ids,), num_classes)
        match = re.fullmatch(r'([1-9]\d*)-([1-9]\d*)', name)
        if match is None:
            raise ValueError(
                f'task {name!r} is neither "offline" nor "B-N" with B classes '
                'in step 0 and N in every later step, such as "15-1"'
            )
        base, increment = int(match[1]), int(match[2])
        if base >= len(ids):
            raise ValueError(
                f'task {name} leaves no class for step 1 of {len(ids)} '
                f'foreground classes: choose B below {len(ids)}, or "offline"'
            )
        starts = range(base, len(ids), increment)
        later = tuple(ids[i : i + increment] for i in starts)
        return cls(name, (ids[:base], *later), num_classes)

    @classmethod
    def from_names(
        cls, steps: Sequence[Sequence[str | int]], classes: Sequence[str]
    ) -> Task:
        """Make a task from the classes of every step.

        Args:
            steps: Class names (or ids) of every step; background is implied.
            classes: Class names of the data set, background first.
        """
        if any(isinstance(step, (str, int)) for step in steps):
            raise ValueError(
                f'the steps of a task are lists of class names, got {steps!r}:'
                ' write [["cat", "dog"], ["horse"]]'
            )
        twice = duplicates([c for step in steps for c in step])
        if twice:
            raise ValueError(
                f'class {twice[0]!r} is listed more than once in the steps '
                f'{steps!r}: keep it in one step'
            )
        ids = {name: i for i, name in enumerate(classes)}
        learned = tuple(
            tuple(_class_id(c, ids) for c in step if c != classes[0])
            for step in steps
        )
        name = '+'.join(str(len(step)) for step in learned)
        return cls(name, learned, len(classes))

    @property
    def num_steps(self) -> int:
        """Number of steps, the base step included."""
        return len(self.steps)

    def new(self, step: int) -> tuple[int, ...]:
        """Class ids learned at ``step``; background belongs to step 0."""
        background = (BACKGROUND,) if self._check(step) == 0 else ()
        return background + self.steps[step]

    def old(self, step: int) -> tuple[int, ...]:
        """Class ids learned before ``step``, in network order."""
        return self.seen(step - 1) if self._check(step) else ()

    def seen(self, step: int) -> tuple[int, ...]:
        """Class ids known after ``step``, in network order."""
        return (BACKGROUND,) + sum(self.steps[: self._check(step) + 1], ())

    def train_label_map(
        self, step: int, label_old: bool = False
    ) -> dict[int, int]:
        """Map class id to training label at ``step``.

        New classes keep their network index; old, future and never learned
        ones are background; 255 stays 255.

        Args:
            step: The continual step.
            label_old: Whether old classes are labeled too (``sequential``).
        """
        labeled = self.seen(step) if label_old else self.new(step)
        return self._label_map(step, labeled, hidden=BACKGROUND)

    def eval_label_map(
        self, step: int, unseen: str = 'background'
    ) -> dict[int, int]:
        """Map class id to evaluation label at ``step``.

        Args:
            step: The continual step.
            unseen: What a class not seen yet counts as: ``'background'``
                (PLOP, RBC) or ``'ignore'`` (MiB).
        """
        hidden = dict(background=BACKGROUND, ignore=IGNORE_INDEX)
        if unseen not in hidden:
            raise ValueError(
                f'unseen={unseen!r} is neither "background" nor "ignore"'
            )
        return self._label_map(step, self.seen(step), hidden[unseen])

    def _label_map(
        self, step: int, labeled: Sequence[int], hidden: int
    ) -> dict[int, int]:
        index = {c: i for i, c in enumerate(self.seen(step)) if c in labeled}
        index[BACKGROUND] = BACKGROUND
        label_map = {c: index.get(c, hidden) for c in range(self.num_classes)}
        return {**label_map, IGNORE_INDEX: IGNORE_INDEX}

    def _check(self, step: int) -> int:
        if not 0 <= step < self.num_steps:
            raise ValueError(
                f'{self.name} has steps 0 to {self.num_steps - 1}, '
                f'got step {step}'
            )
        return step

    def __str__(self) -> str:
        sizes = ', '.join(str(len(step)) for step in self.steps)
        plural = 's' if self.num_steps > 1 else ''
        return (
            f'task {self.name}: {self.num_steps} step{plural} of {sizes} of '
            f'{self.num_classes - 1} foreground classes'
        )


def _class_id(name: str | int, ids: Mapping[str, int]) -> int:
    if isinstance(name, int):
        return name
    # MMEngine's command line removes the spaces of a name.
    squeezed = {key.replace(' ', ''): i for key, i in ids.items()}
    found = ids.get(name, squeezed.get(name))
    if found is None:
        raise ValueError(
            f'class {name!r} is unknown: the data set has {", ".join(ids)}'
        )
    return found


def _check_steps(name: str, steps: Steps, num_classes: int) -> None:
    """Raise unless every step has classes and every class has one step."""
    if not 2 <= num_classes <= MAX_CLASSES:
        raise ValueError(
            f'task {name} has {num_classes} classes with background, expected '
            f'2 to {MAX_CLASSES}: labels are 8-bit and 255 means ignore'
        )
    if not steps or not all(steps):
        empty = [i for i, step in enumerate(steps) if not step] or [0]
        raise ValueError(f'task {name} has no class in step {empty[0]}')
    ids = sum(steps, ())
    wrong = [c for c in ids if not 0 < c < num_classes]
    if wrong:
        raise ValueError(
            f'task {name} names class {wrong[0]}, but foreground ids go from '
            f'1 to {num_classes - 1}'
        )
    if duplicates(ids):
        raise ValueError(
            f'task {name} learns class {duplicates(ids)[0]} more than once: '
            'keep it in one step'
        )
