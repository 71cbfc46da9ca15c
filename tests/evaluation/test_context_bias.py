"""Context bias against loops over pixels."""

import numpy as np
import pytest
import torch

from mmseg_rbc.evaluation.context_bias import (
    ContextBias,
    co_occurrence,
    data_bias,
)
from mmseg_rbc.tasks import Task

OLD, SEEN = 3, 5


def logits(seed: int) -> torch.Tensor:
    return torch.randn(
        SEEN, 6, 7, generator=torch.Generator().manual_seed(seed)
    )


def labels(seed: int) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    label = torch.randint(0, SEEN, (6, 7), generator=g)
    label[0, :3] = 255
    return label


def slow(cases: list, c: int) -> dict:
    """Loop over the pixels of class c, and over all for its IoU."""
    found = dict(pixels=0, flipped=0, right=0, lost=0, drop=0.0)
    counts = np.zeros((2, 3))
    for full, erased, label in cases:
        for y in range(6):
            for x in range(7):
                t = int(label[y, x])
                if t >= OLD:
                    continue
                a, b = full[:, y, x], erased[:, y, x]
                for i, z in enumerate((a, b)):
                    p = int(z.argmax())
                    counts[i] += [p == t == c, p == c, t == c]
                if t != c:
                    continue
                found['pixels'] += 1
                found['flipped'] += int(a.argmax() != b.argmax())
                right = int(a.argmax()) == c
                found['right'] += right
                found['lost'] += right and int(b.argmax()) != c
                found['drop'] += float(a.softmax(0)[c] - b.softmax(0)[c])
    iou = [hit / (p + t - hit) for hit, p, t in counts]
    return dict(found, iou_drop=100 * (iou[0] - iou[1]))


def test_against_loops():
    cases = [(logits(i), logits(9 + i), labels(20 + i)) for i in range(3)]
    bias = ContextBias(OLD, SEEN)
    for case in cases:
        bias.update(*case)
    result = bias.result(['background', 'a', 'b', 'c', 'd'])
    assert result['num_images'] == 3 and list(result['by_class']) == ['a', 'b']
    for c, name in ((1, 'a'), (2, 'b')):
        expected, row = slow(cases, c), result['by_class'][name]
        n = expected['pixels']
        assert row['pixels'] == n
        assert row['flipped'] == pytest.approx(100 * expected['flipped'] / n)
        assert row['right'] == pytest.approx(100 * expected['right'] / n)
        lost = 100 * expected['lost'] / expected['right']
        assert row['lost'] == pytest.approx(lost)
        drop = 100 * expected['drop'] / n
        assert row['probability_drop'] == pytest.approx(drop, abs=1e-4)
        assert row['iou_drop'] == pytest.approx(expected['iou_drop'])
    both = [row['flipped'] for row in result['by_class'].values()]
    assert result['mean']['flipped'] == pytest.approx(sum(both) / 2)


def test_equal_predictions_have_no_bias():
    bias = ContextBias(OLD, SEEN)
    bias.update(logits(0), logits(0), labels(1))
    mean = bias.result('abcde')['mean']
    assert mean['flipped'] == mean['probability_drop'] == mean['lost'] == 0


def test_which_images_count_and_what_is_erased():
    bias = ContextBias(OLD, SEEN)
    image = torch.full((3, 2, 4), 9, dtype=torch.uint8)
    label = torch.tensor([[0, 1, 3, 4], [2, 255, 0, 0]])
    erased = bias.erase(image, label)
    assert (erased[0] == torch.tensor([[9, 9, 0, 0], [9, 9, 9, 9]])).all()
    assert (image == 9).all(), 'the image itself stays'
    assert bias.erase(image, label.clamp(max=2)) is None, 'nothing new'
    no_old = label.where(label >= OLD, 0)
    assert bias.erase(image, no_old) is None, 'nothing old'
    large = label.repeat_interleave(2, 0).repeat_interleave(2, 1)
    assert (bias.erase(image, large) == erased).all(), 'label of another size'


def test_nothing_measured():
    result = ContextBias(OLD, SEEN).result('abcde')
    assert result['by_class'] == {} and result['mean']['flipped'] is None


def test_co_occurrence():
    index = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 1]], bool)
    table = co_occurrence(index, [0, 1], [2])
    np.testing.assert_allclose(table, [[200 / 3], [50]])
    assert np.isnan(co_occurrence(index[:1], [2], [0, 1])).all()


def test_data_bias():
    task = Task.parse('2-1', num_classes=5)
    #                 bg 1  2  3  4
    index = np.array(
        [
            [1, 1, 0, 0, 0],
            [1, 1, 0, 1, 0],
            [1, 0, 1, 1, 0],
            [1, 1, 0, 0, 1],
        ],
        bool,
    )
    selected = [np.arange(4), np.array([1, 2]), np.array([3])]
    bias = data_bias(index, selected, task)
    np.testing.assert_allclose(bias['base'], [[100 / 3, 100 / 3], [100, 0]])
    np.testing.assert_allclose(bias['later'], [[100, 100], [100, np.nan]])
