"""Images of a step, against the definitions by sets of labels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import tasks

from mmseg_rbc.datasets.splits import SETTINGS, select_images
from mmseg_rbc.tasks import Task

Labels = list[set[int]]


@st.composite
def labeled_images(draw: st.DrawFn) -> tuple[Task, Labels]:
    """Draw a task and the labels of images, 0 and 255 among them."""
    task = draw(tasks())
    labels = st.sampled_from([*range(task.num_classes), 255])
    images = st.lists(st.sets(labels, min_size=1, max_size=5), max_size=8)
    return task, draw(images)


def class_index(images: Labels, num_classes: int) -> np.ndarray:
    index = np.zeros((len(images), num_classes), bool)
    for row, labels in zip(index, images):
        row[list(labels - {255})] = True
    return index


def chosen(
    task: Task, images: Labels, setting: str, seed: int = 0
) -> list[list[int]]:
    """Return the images of every step."""
    index = class_index(images, task.num_classes)
    names = [f'image{i}' for i in range(len(images))]
    return [
        select_images(index, task, step, setting, names, seed).tolist()
        for step in range(task.num_steps)
    ]


@given(case=labeled_images())
def test_settings_by_their_definitions(case):
    """S: labels of the image; C: of the step; P: of all earlier steps."""
    task, images = case
    for setting in SETTINGS[:3]:
        expected = []
        for step in range(task.num_steps):
            c, p = set(task.new(step)) - {0}, set(task.old(step)) - {0}
            is_in = [
                bool(s & c)
                and (setting == 'overlapped' or s <= c | p | {0, 255})
                for s in images
            ]
            expected.append([i for i, yes in enumerate(is_in) if yes])
        assert chosen(task, images, setting) == expected


@given(case=labeled_images(), seed=st.integers(0, 99))
def test_background_and_void_neither_select_nor_exclude(case, seed):
    task, images = case
    for setting in SETTINGS:
        expected = chosen(task, images, setting, seed)
        for more in ({0}, {255}, {0, 255}):
            with_more = [labels | more for labels in images]
            without = [labels - more for labels in images]
            assert chosen(task, with_more, setting, seed) == expected
            assert chosen(task, without, setting, seed) == expected


@given(case=labeled_images(), seed=st.integers(0, 99))
def test_partitioned_puts_every_image_into_one_of_its_steps(case, seed):
    task, images = case
    found = chosen(task, images, 'partitioned', seed)
    assert sorted(sum(found, [])) == list(range(len(images)))
    learned = set(task.seen(task.num_steps - 1)) - {0}
    for step, members in enumerate(found):
        for i in members:
            classes = images[i] & learned
            assert classes & set(task.new(step)) or (step == 0 and not classes)


@given(case=labeled_images(), seed=st.integers(0, 99), data=st.data())
def test_the_step_of_an_image_does_not_depend_on_the_others(case, seed, data):
    task, images = case
    kept = data.draw(st.integers(0, len(images)))
    for setting in SETTINGS:
        whole = chosen(task, images, setting, seed)
        part = chosen(task, images[:kept], setting, seed)
        assert part == [[i for i in step if i < kept] for step in whole]
