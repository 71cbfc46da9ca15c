"""Continual metrics on matrices made by hand."""

import math

import numpy as np
import pytest

from mmseg_rbc.evaluation.continual_metrics import (
    context_change,
    forgetting,
    group_means,
    harmonic_mean,
    iou_matrix,
    over_seeds,
    summarize,
)

NAN = math.nan
STEPS = [
    dict(background=90.0, cat=60.0, dog=40.0),
    dict(background=80.0, cat=30.0, dog=None, cow=50.0),
    dict(background=70.0, cat=20.0, dog=50.0, cow=10.0, bus=30.0),
]
MATRIX = np.array(
    [
        [90, 80, 70],
        [60, 30, 20],
        [40, NAN, 50],
        [NAN, 50, 10],
        [NAN, NAN, 30],
    ]
)


def test_matrix():
    classes, matrix, first = iou_matrix(STEPS)
    assert classes == ['background', 'cat', 'dog', 'cow', 'bus']
    np.testing.assert_array_equal(matrix, MATRIX)
    assert first.tolist() == [0, 0, 0, 1, 2]


def test_matrix_with_a_missing_step():
    classes, matrix, first = iou_matrix([STEPS[0], {}, STEPS[2]])
    assert np.isnan(matrix[:, 1]).all()
    assert first.tolist() == [0, 0, 0, 2, 2] and len(classes) == 5
    assert iou_matrix([])[1].shape == (0, 0)


def test_group_means():
    means = group_means(MATRIX, num_base=3)
    np.testing.assert_allclose(means['old'], [190 / 3, 55, 140 / 3])
    np.testing.assert_allclose(means['new'], [NAN, 50, 20])
    np.testing.assert_allclose(means['all'], [190 / 3, 160 / 3, 36])
    without = group_means(MATRIX, num_base=3, background=False)
    np.testing.assert_allclose(without['old'], [50, 30, 35])
    np.testing.assert_allclose(without['all'], [50, 40, 27.5])
    np.testing.assert_allclose(without['new'], means['new'])


def test_forgetting():
    lost = forgetting(MATRIX, np.array([0, 0, 0, 1, 2]))
    np.testing.assert_allclose(lost, [20, 40, -10, 40, NAN])


def test_harmonic_mean():
    assert harmonic_mean(60, 30) == pytest.approx(40)
    assert harmonic_mean(0, 0) == 0 and harmonic_mean(0, 50) == 0
    assert math.isnan(harmonic_mean(NAN, 5))


def test_summary():
    numbers = summarize(MATRIX, np.array([0, 0, 0, 1, 2]), num_base=3)
    assert numbers['all'] == pytest.approx(36)
    assert numbers['mean'] == pytest.approx((190 / 3 + 160 / 3 + 36) / 3)
    assert numbers['forgetting'] == pytest.approx(90 / 4)
    assert numbers['transfer'] == pytest.approx(-90 / 4)
    old, new = 140 / 3, 20
    assert numbers['harmonic'] == pytest.approx(2 * old * new / (old + new))
    without = summarize(MATRIX, np.array([0, 0, 0, 1, 2]), 3, False)
    assert without['forgetting'] == pytest.approx(70 / 3)


def test_one_step_forgets_nothing():
    numbers = summarize(MATRIX[:3, :1], np.zeros(3, int), num_base=3)
    assert math.isnan(numbers['forgetting']) and math.isnan(numbers['new'])
    assert numbers['old'] == numbers['all'] == numbers['mean']


def test_over_seeds():
    table = over_seeds([dict(all=1.0, new=NAN), dict(all=3.0, new=4.0)])
    assert table['all'] == dict(mean=2.0, std=2**0.5, values=[1.0, 3.0])
    assert table['new']['mean'] == 4 and math.isnan(table['new']['std'])
    assert math.isnan(over_seeds([dict(a=NAN)])['a']['mean'])


def test_context_change():
    classes = ['background', 'cat', 'dog', 'cow', 'bus']
    shown = [[], ['dog'], ['cat', 'cow']]
    first, second = context_change(classes, MATRIX, shown)
    # In step 1 dog is shown, but has no pixels afterwards.
    assert first['step'] == 1 and first['shown']['classes'] == ['dog']
    assert first['shown']['before'] == 40
    assert math.isnan(first['shown']['after'])
    assert first['absent'] == dict(classes=['cat'], before=60, after=30)
    assert second['shown'] == dict(classes=['cat', 'cow'], before=40, after=15)
    # Dog was not measured before step 2.
    assert second['absent']['classes'] == []
    assert context_change(classes, MATRIX, [None] * 3) == []
    assert context_change(classes, MATRIX, [[], ['cat']])[-1]['step'] == 1
