import pytest
from helpers import BENCHMARK_TASKS

from mmseg_rbc.class_orders import VOC_ORDERS
from mmseg_rbc.tasks import Task

VOC = 21
NAMES = ('background', 'cat', 'dog', 'horse', 'cow')


def test_15_1_by_hand():
    task = Task.parse('15-1', VOC)
    base = tuple(range(1, 16))
    assert task.steps == (base, (16,), (17,), (18,), (19,), (20,))
    assert task.new(0) == (0, *base) and task.old(0) == ()
    assert task.seen(2) == tuple(range(18))
    assert task.old(2) == tuple(range(17)) and task.new(2) == (17,)


@pytest.mark.parametrize(
    'name, num_classes, sizes',
    [
        ('offline', 21, [20]),
        ('joint', 21, [20]),
        ('15-5s', 21, [15, 1, 1, 1, 1, 1]),
        ('19-1', 21, [19, 1]),
        ('15-5', 21, [15, 5]),
        ('10-1', 21, [10] + [1] * 10),
        ('5-3', 21, [5] * 1 + [3] * 5),
        ('2-2', 21, [2] * 10),
        ('15-6', 21, [15, 5]),
        ('15-2', 21, [15, 2, 2, 1]),
        ('100-50', 151, [100, 50]),
        ('100-10', 151, [100] + [10] * 5),
        ('100-5', 151, [100] + [5] * 10),
        ('50-50', 151, [50, 50, 50]),
    ],
)
def test_sizes(name, num_classes, sizes):
    task = Task.parse(name, num_classes)
    assert [len(step) for step in task.steps] == sizes
    assert task.seen(task.num_steps - 1) == tuple(range(num_classes))


def test_benchmark_tasks_parse():
    seen = [
        Task.parse(name, num_foreground + 1)
        for num_foreground, names in BENCHMARK_TASKS.items()
        for name in names
    ]
    assert len(seen) == len(set(seen)) == 12


def test_order_permutes_network_indices():
    task = Task.parse('15-1', VOC, 'b')
    assert task.seen(1) == (0, *VOC_ORDERS['b'][:16])
    label_map = task.train_label_map(1)
    assert label_map[VOC_ORDERS['b'][15]] == 16
    assert task.eval_label_map(0)[12] == 1
    assert task != Task.parse('15-1', VOC)


def test_label_maps_by_hand():
    task = Task.from_names([['dog', 'cat'], ['cow']], NAMES)
    # Class ids: cat 1, dog 2, horse 3 (never learned), cow 4.
    assert task.train_label_map(0) == {0: 0, 1: 2, 2: 1, 3: 0, 4: 0, 255: 255}
    assert task.train_label_map(1) == {0: 0, 1: 0, 2: 0, 3: 0, 4: 3, 255: 255}
    sequential = task.train_label_map(1, label_old=True)
    assert sequential == {0: 0, 1: 2, 2: 1, 3: 0, 4: 3, 255: 255}
    assert task.eval_label_map(0)[4] == 0
    assert task.eval_label_map(0, 'ignore')[4] == 255
    assert task.eval_label_map(1, 'ignore')[4] == 3


def test_hash_and_text():
    assert hash(Task.parse('15-1', VOC)) == hash(Task.parse('15-1', VOC))
    assert str(Task.parse('15-5', VOC)) == (
        'task 15-5: 2 steps of 15, 5 of 20 foreground classes'
    )
    assert Task.from_names([['cat'], ['dog', 'cow']], NAMES).name == '1+2'


def test_order_and_steps_by_name():
    by_name = Task.make('2-1', NAMES, order=['cow', 'dog', 'cat', 'horse'])
    assert by_name.steps == ((4, 2), (1,), (3,))
    # MMEngine's command line removes spaces.
    spaced = ('background', 'swivel chair', 'bed')
    task = Task.make([['bed'], ['swivelchair']], spaced)
    assert task.steps == ((2,), (1,))


def test_names_may_list_background_and_ids():
    named = Task.make([['background', 'cat'], ['dog']], NAMES)
    assert named == Task.make([[1], [2]], NAMES)


@pytest.mark.parametrize(
    'make, sentence',
    [
        (
            lambda: Task.parse('20-1', VOC),
            'task 20-1 leaves no class for step 1 of 20 foreground classes',
        ),
        (lambda: Task.parse('15/1', VOC), "task '15/1' is neither"),
        (lambda: Task.parse('15-0', VOC), "task '15-0' is neither"),
        (lambda: Task.parse('15-1', VOC, 'z'), "order 'z' is unknown"),
        (lambda: Task.parse('1-1', 4, [1, 2, 2]), r'\[3\] is missing'),
        (lambda: Task.parse('1-1', 4, [1, 2, 3, 3]), r'\[3\] is missing'),
        (lambda: Task.parse('1-1', 4, 'b'), 'out of range'),
        (lambda: Task.parse('15-1', 300), 'has 300 classes'),
        (lambda: Task.parse('15-1', VOC).new(6), 'steps 0 to 5, got step 6'),
        (lambda: Task.parse('15-1', VOC).old(-1), 'got step -1'),
        (
            lambda: Task.from_names([['cat'], ['lion']], NAMES),
            "class 'lion' is unknown: the data set has background, cat",
        ),
        (
            lambda: Task.from_names([['cat'], ['cat']], NAMES),
            "class 'cat' is listed more than once",
        ),
        (lambda: Task.from_names([['cat'], []], NAMES), 'no class in step 1'),
        (lambda: Task.from_names([], NAMES), 'no class in step 0'),
        (lambda: Task.from_names(['cat'], NAMES), 'lists of class names'),
        (lambda: Task.from_names([[7]], NAMES), 'names class 7'),
        (lambda: Task.from_names([[1, 'cat']], NAMES), 'class 1 more than'),
        (
            lambda: Task.make([['cat']], NAMES, order='b'),
            'order goes with a task',
        ),
        (
            lambda: Task.parse('1-1', 4).eval_label_map(0, 'no'),
            "unseen='no' is neither",
        ),
    ],
)
def test_errors(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
