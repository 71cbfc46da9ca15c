"""Tables of results."""

from mmseg_rbc.reporting.tables import (
    benchmark_table,
    over_seeds,
    summary_table,
)


def step(**values: float) -> dict:
    return dict(step=1, metrics={f'mIoU_{k}': v for k, v in values.items()})


def test_summary_table():
    text = summary_table([step(old=12.25, all=7)], 'title')
    assert text.startswith('title') and '12.25' in text
    assert '-' in text.splitlines()[-2], 'no new classes'


def test_mean_and_deviation_over_seeds():
    runs = [('a', step(old=1, new=2, all=3)), ('a', step(old=3, new=2, all=4))]
    results = over_seeds([*runs, ('b', step(old=5, all=5))])
    assert results['a']['old'] == dict(mean=2, std=2**0.5, values=[1, 3])
    assert results['b']['new']['values'] == []
    lines = benchmark_table(results).splitlines()
    assert '2.00 ± 1.41' in lines[3] and '2.00 ± 0.00' in lines[3]
    assert lines[4].count('5.00') == 2 and ' - ' in lines[4]
