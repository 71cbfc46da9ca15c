"""What the sections of the page say."""

import base64
import math
from pathlib import Path

import pytest
from helpers import write_run

from mmseg_rbc.reporting import sections
from mmseg_rbc.runs.experiment import find_experiments
from mmseg_rbc.runs.run import find_runs
from mmseg_rbc.runs.work_dir import StepDir
from mmseg_rbc.utils.files import write_json


def entries_of(*paths: Path, task: str = '2-1') -> list[sections.Entry]:
    experiments, _ = find_experiments(find_runs(map(str, paths)))
    return sections.make_entries(experiments, task, 'overlapped')


def test_entries(tmp_path):
    write_run(tmp_path / 'mine_x')
    write_run(tmp_path / 'rbc_x')
    mine, rbc = entries_of(tmp_path, task='15-1')
    assert (mine.name, mine.color, mine.paper) == ('mine_x', '#4477AA', None)
    assert rbc.paper == (69.54, 38.44, 62.14) and rbc.color == '#EE6677'
    assert not rbc.is_comparable


def test_gap_to_joint(tmp_path):
    write_run(tmp_path / 'ft', level=30.0)
    write_run(tmp_path / 'joint', sizes=[5], task='offline', level=70.0)
    ft, joint = sections.result_rows(entries_of(tmp_path), True)
    assert joint['numbers']['all']['mean'] == 72 and joint['gap'] == 0
    assert ft['numbers']['all']['mean'] == 12 and ft['gap'] == 60
    ft, joint = sections.result_rows(entries_of(tmp_path), False)
    assert ft['numbers']['all']['mean'] == 12.5
    assert ft['gap'] == 72.5 - 12.5
    (alone,) = sections.result_rows(entries_of(tmp_path / 'ft'), True)
    assert math.isnan(alone['gap'])


def test_heat_map(tmp_path):
    write_run(tmp_path / 'a/seed_0', sizes=[3, 4])
    write_run(tmp_path / 'a/seed_1', sizes=[3, 4], level=54.0, seed=1)
    (heat_map,) = sections.heat_maps(entries_of(tmp_path))
    assert heat_map['columns'] == ['step 0', 'step 1']
    name, values = heat_map['rows'][0]
    assert name == 'background' and values == [52, 42]
    name, values = heat_map['rows'][3]
    assert name == 'cow' and math.isnan(values[0]) and values[1] == 45


def test_context_bias_over_seeds(tmp_path):
    for seed, lost in ((0, None), (1, 3.0)):
        folder = write_run(tmp_path / f'a/seed_{seed}', seed=seed)
        means = dict(flipped=10 + 2 * seed, lost=lost, right=math.nan)
        write_json(folder.step(1).context_bias, dict(mean=means))
    write_run(tmp_path / 'b')
    (row,) = sections.bias_rows(entries_of(tmp_path))
    assert row['entry'].name == 'a' and set(row['numbers']) == {
        'flipped',
        'lost',
    }
    assert row['numbers']['flipped']['mean'] == 11
    assert row['numbers']['flipped']['std'] == pytest.approx(2**0.5)
    assert row['numbers']['lost']['values'] == [3]


def test_newest_co_occurrence_picture(tmp_path):
    folder = write_run(tmp_path / 'a')
    write_run(tmp_path / 'b')
    assert sections.co_occurrence_picture(entries_of(tmp_path)) is None
    for step in (2, 10, 9):
        path = Path(folder.step(step).co_occurrence_picture)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b'PNG')
    found = sections.co_occurrence_picture(entries_of(tmp_path))
    assert found == folder.step(10).co_occurrence_picture
    assert base64.b64decode(sections.read_picture(found)) == b'PNG'


def test_costs(tmp_path):
    folder = write_run(tmp_path, sizes=[3, 4], seed=7, peak_memory_mb=None)
    (row,) = sections.cost_rows(entries_of(tmp_path))
    assert (row['seed'], row['total'], row['memory']) == (7, '2 min 02 s', '?')
    assert row['steps'] == ['1 min 01 s'] * 2 and not row['is_partial']
    assert row['device'] == 'cpu'
    step: StepDir = folder.step(1)
    step.write_finished(dict(seconds='?', peak_memory_mb=9, adopted=True))
    (row,) = sections.cost_rows(entries_of(tmp_path))
    assert (row['total'], row['memory']) == ('1 min 01 s', 9)
    assert row['steps'] == ['1 min 01 s', '?'] and row['is_partial']


def test_configs(tmp_path):
    write_run(tmp_path, config='b = 2\n', unseen='ignore', num_images=6)
    (row,) = sections.config_rows(entries_of(tmp_path))
    assert row['versions'] == 'torch 2, device cpu'
    assert row['evaluation'] == 'unseen: ignore; num_images: 6'
    assert row['config'] == 'b = 2\n' and row['path'] == str(tmp_path)


@pytest.mark.parametrize(
    'seconds, text',
    [
        (0, '0 s'),
        (59.6, '1 min 00 s'),
        (61, '1 min 01 s'),
        (3599, '59 min 59 s'),
        (3661, '1 h 01 min'),
        (100 * 3600, '100 h 00 min'),
    ],
)
def test_duration(seconds, text):
    assert sections.duration(seconds) == text


@pytest.mark.parametrize('value', [None, 'x', math.nan, math.inf, [1]])
def test_no_number(value):
    assert not sections.is_number(value)
    assert sections.is_number(0) and sections.is_number(-1.5)
