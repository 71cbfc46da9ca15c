"""All eleven methods run 15-1 on synthetic data, from end to end."""

import json
from pathlib import Path

import pytest

from mmseg_rbc.engine import run_sequence

METHODS = [
    'ft',
    'lwf',
    'ilt',
    'mib',
    'plop',
    'rbc',
    'lwf-mc',
    'ewc',
    'pi',
    'rw',
    'joint',
]
SHARE_STEP_0 = METHODS[:6]


@pytest.fixture(scope='module')
def runs(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp('methods')


@pytest.mark.parametrize('method', METHODS)
def test_sequence(runs, tiny_config, method):
    short = dict(lr=0.005, epochs=1, batch_size=8)
    cfg, options = tiny_config(
        method,
        **{
            'continual.task': '15-1',
            'schedule.base': short,
            'schedule.later': short,
        },
    )
    shares = method in SHARE_STEP_0[1:]
    results = run_sequence(
        cfg,
        str(runs / method),
        init_from=str(runs / 'ft') if shares else None,
        options=options,
    )
    steps = 1 if method == 'joint' else 6
    assert [result['step'] for result in results] == list(range(steps))
    last = runs / method / f'step_{steps - 1}/metrics.json'
    metrics = json.loads(last.read_text())
    # Joint is compared by the groups of 15-1 as well.
    assert {'old', 'new', 'all'} <= metrics['mIoU'].keys()
    assert len(metrics['IoU']) == 21
    keys = ['mIoU_old', 'mIoU_new', 'mIoU_all']
    found = [results[-1]['metrics'][key] for key in keys]
    assert found == [round(metrics['mIoU'][key[5:]], 2) for key in keys]
    summary = json.loads((runs / method / 'summary.json').read_text())
    assert summary['steps'] == results
