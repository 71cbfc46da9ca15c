"""Any task puts every class into one step and one place of the network."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import tasks

from mmseg_rbc.tasks import Task


@given(data=st.data())
def test_b_n_by_its_rule(data):
    """B first, then N at a time; the last step may be smaller."""
    count = data.draw(st.integers(2, 253))
    base = data.draw(st.integers(1, count - 1))
    increment = data.draw(st.integers(1, count))
    order = data.draw(st.permutations(range(1, count + 1)))
    task = Task.parse(f'{base}-{increment}', count + 1, order)
    assert [c for step in task.steps for c in step] == order
    sizes = [len(step) for step in task.steps]
    assert sizes[0] == base
    assert all(size == increment for size in sizes[1:-1])
    assert 1 <= sizes[-1] <= increment


@given(task=tasks())
def test_every_class_is_in_one_step(task):
    steps = [set(task.new(step)) for step in range(task.num_steps)]
    assert sum(map(len, steps)) == len(set().union(*steps))
    assert set().union(*steps) == set(task.seen(task.num_steps - 1))
    assert [0 in step for step in steps] == [
        step == 0 for step in range(task.num_steps)
    ]


@given(task=tasks())
def test_old_and_new_make_seen(task):
    assert task.old(0) == ()
    for step in range(task.num_steps):
        old, new, seen = task.old(step), task.new(step), task.seen(step)
        assert seen == old + new and seen[0] == 0
        if step:
            assert old == task.seen(step - 1)


@given(task=tasks())
def test_training_labels(task):
    """New classes have their place in [0] + old + new, the rest is 0."""
    for step in range(task.num_steps):
        place = {c: i for i, c in enumerate(task.old(step) + task.new(step))}
        for label_old in (False, True):
            labeled = task.new(step) + (task.old(step) if label_old else ())
            expected = {
                c: place[c] if c in labeled else 0
                for c in range(task.num_classes)
            }
            expected[255] = 255
            assert task.train_label_map(step, label_old) == expected


@given(task=tasks())
def test_evaluation_labels_are_a_bijection_on_seen_classes(task):
    for step in range(task.num_steps):
        seen = task.seen(step)
        for unseen, hidden in (('background', 0), ('ignore', 255)):
            found = task.eval_label_map(step, unseen)
            assert [found[c] for c in seen] == list(range(len(seen)))
            assert found.keys() == {*range(task.num_classes), 255}
            others = found.keys() - set(seen) - {255}
            assert {found[c] for c in others} <= {hidden}
            assert found[255] == 255
