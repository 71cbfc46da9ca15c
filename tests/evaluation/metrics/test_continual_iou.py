import json
import math

import numpy as np
import pytest
import torch
from mmseg.registry import METRICS

from mmseg_rbc.evaluation.metrics.continual_iou import (
    count_pixels,
    intersection_over_union,
    mean_iou,
)
from mmseg_rbc.utils.environment import environment

META = dict(
    classes=('background', 'a', 'b', 'c'),
    num_base=2,
    task='1-1',
    setting='overlapped',
    step=2,
    eval_images='all',
    unseen='background',
    new=('c',),
)


def sample(prediction, label) -> dict:
    return dict(
        pred_sem_seg=dict(data=torch.tensor([prediction])),
        gt_sem_seg=dict(data=torch.tensor([label])),
    )


SAMPLES = [
    sample([[0, 0, 1], [1, 2, 2]], [[0, 1, 1], [255, 2, 0]]),
    sample([[2, 2, 1]], [[2, 9, 1]]),
]
# Valid pixels only: correct 1, 2, 2, 0; predicted 2, 2, 3, 0; labeled 2, 3,
# 2, 0.
EXPECTED = dict(background=100 / 3, a=200 / 3, b=200 / 3)


def evaluate(tmp_path, **kwargs):
    path = tmp_path / 'm.json'
    metric = METRICS.build(
        dict(type='ContinualIoUMetric', out_file=str(path), **kwargs)
    )
    metric.dataset_meta = META
    metric.process(None, SAMPLES)
    return metric.evaluate(len(SAMPLES)), json.loads(path.read_text())


def test_by_hand(tmp_path):
    metrics, report = evaluate(tmp_path)
    assert metrics['IoU.background'] == 33.33
    assert metrics['IoU.a'] == metrics['IoU.b'] == 66.67
    assert 'IoU.c' not in metrics, 'no pixel of c'
    assert metrics['mIoU_old'] == 50
    assert metrics['mIoU_new'] == 66.67
    assert metrics['mIoU'] == metrics['mIoU_all'] == 55.56
    assert report['IoU'].pop('c') is None
    assert report['IoU'] == pytest.approx(EXPECTED)
    assert report['mIoU']['old'] == pytest.approx(50)
    without = report['mIoU_without_background']
    assert without['old'] == pytest.approx(200 / 3)
    assert report['num_images'] == 2 and report['eval_images'] == 'all'


def test_background_may_be_left_out(tmp_path):
    metrics, _ = evaluate(tmp_path, background=False)
    assert metrics['mIoU_old'] == metrics['mIoU_all'] == 66.67


def test_counts_against_a_loop():
    rng = np.random.default_rng(0)
    prediction, label = rng.integers(0, 5, (2, 20, 20))
    label[rng.random((20, 20)) < 0.2] = 255
    label[label == 4] = 7
    counts = count_pixels(
        torch.from_numpy(prediction), torch.from_numpy(label), 5
    )
    for c in range(5):
        valid = label < 5
        a, b = (prediction == c) & valid, (label == c) & valid
        assert counts[:, c].tolist() == [(a & b).sum(), a.sum(), b.sum()]


def test_limits():
    perfect = np.array([[3, 4], [3, 4], [3, 4]])
    assert intersection_over_union(perfect).tolist() == [1, 1]
    assert math.isnan(mean_iou(np.array([math.nan]), range(1)))


def test_step_0_has_no_new_group():
    metric = METRICS.build(dict(type='ContinualIoUMetric'))
    metric.dataset_meta = dict(classes=('background', 'a'), num_base=2)
    metric.process(None, [sample([[0, 1]], [[0, 1]])])
    metrics = metric.evaluate(1)
    assert metrics['mIoU_old'] == 100 and 'mIoU_new' not in metrics


def test_file_says_where_it_comes_from(tmp_path):
    _, report = evaluate(tmp_path, record=dict(seed=3, data='x'))
    assert (report['seed'], report['data']) == (3, 'x')
    assert 'versions' not in report
    _, report = evaluate(tmp_path)
    known = {key: report[key] for key in environment()}
    assert known == environment()


@pytest.mark.parametrize('num_old, iou', [(3, 100 / 3), (2, 100 / 3)])
def test_unlabeled_pixels_count_for_new_classes(tmp_path, num_old, iou):
    """Label 4 of four classes: it is none of the new ones."""
    metric = METRICS.build(dict(type='ContinualIoUMetric'))
    metric.dataset_meta = dict(META, num_old=num_old)
    metric.process(None, [sample([[3, 3, 3, 2, 1]], [[3, 4, 4, 2, 4]])])
    found = metric.evaluate(1)
    assert found['IoU.c'] == round(iou, 2)
    assert found['IoU.b'] == 100


def test_what_is_not_learned_yet_is_no_class(tmp_path, monkeypatch):
    """One mean of old classes in all steps: of "a" alone."""
    classes = ('not learned yet', 'a', 'b', 'c')
    monkeypatch.setitem(META, 'classes', classes)
    metrics, report = evaluate(tmp_path)
    assert report['IoU']['not learned yet'] is None
    assert report['mIoU']['old'] == pytest.approx(EXPECTED['a'])
    assert report['mIoU'] == report['mIoU_without_background']
    assert metrics['mIoU_old'] == round(EXPECTED['a'], 2)
    assert 'IoU.not learned yet' not in metrics


def test_class_0_of_a_stock_network_is_a_class(tmp_path, monkeypatch):
    """It is no background that could be left out."""
    monkeypatch.setitem(META, 'classes', ('sky', 'a', 'b', 'c'))
    _, report = evaluate(tmp_path)
    assert report['mIoU']['old'] == pytest.approx(50)
    assert report['mIoU'] == report['mIoU_without_background']
