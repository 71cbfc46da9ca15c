"""The files of a run: where they are, and which of them count."""

import math
import os
from pathlib import Path

import pytest
from helpers import write_run

from mmseg_rbc.runs import StepDir, WorkDir
from mmseg_rbc.runs.work_dir import find_work_dirs


def test_paths(tmp_path):
    folder = WorkDir('run')
    assert folder.summary == 'run/summary.json'
    assert folder.step(3).final == 'run/step_3/final.pth'
    assert folder.previous(0) is None
    assert folder.previous(3) == 'run/step_2/final.pth'
    beside = StepDir.of(str(tmp_path / 'final.pth'))
    assert beside.metrics == str(tmp_path / 'metrics.json')


def test_steps_are_in_the_order_of_their_numbers(tmp_path):
    folder = WorkDir(str(tmp_path))
    for name in ('step_10', 'step_9', 'step_x', 'step_1.part'):
        (tmp_path / name).mkdir()
    assert folder.steps() == [9, 10]
    assert WorkDir(str(tmp_path / 'none')).steps() == []


def test_finished_decides(tmp_path):
    step = WorkDir(str(tmp_path)).step(0)
    assert not step.is_finished() and step.read_finished() is None
    step.write_finished(dict(seed=3))
    assert step.is_finished() and step.read_finished() == dict(seed=3)


@pytest.mark.parametrize(
    'content', ['', 'null', '[]', '{"a"', '{"metrics": 3}', '[' * 10**5]
)
def test_damaged_finished_is_no_result(tmp_path, content):
    step = StepDir(str(tmp_path))
    (tmp_path / 'finished.json').write_text(content)
    with pytest.raises(ValueError, match='finished.json is no result of a st'):
        step.read_finished()


def test_summary(tmp_path):
    folder = WorkDir(str(tmp_path))
    with pytest.raises(FileNotFoundError, match='no step of this run'):
        folder.read_summary()
    change = [dict(step=1, shown=dict(before=math.nan))]
    folder.write_summary('a task', 2, [dict(step=0)], change)
    expected = dict(task='a task', num_steps=2, steps=[dict(step=0)])
    expected['context_change'] = [dict(step=1, shown=dict(before=None))]
    assert folder.read_summary() == expected


def names(step: StepDir) -> list[str]:
    return [Path(path).name for path in step.checkpoints()]


def test_checkpoints_of_a_moved_run_newest_first(tmp_path):
    step = StepDir(str(tmp_path))
    assert step.checkpoints() == []
    last = tmp_path / 'last_checkpoint'
    last.write_text('/elsewhere/epoch_2.pth\n')
    assert step.checkpoints() == [], 'the file itself is gone'
    # Epoch 10 is of a run before, that was started again.
    for time, name in enumerate(('epoch_10', 'epoch_1', 'epoch_2', 'final')):
        (tmp_path / f'{name}.pth').touch()
        os.utime(tmp_path / f'{name}.pth', (time, time))
    assert names(step) == ['epoch_2.pth', 'epoch_1.pth', 'epoch_10.pth']
    last.write_text('/elsewhere/epoch_1.pth')
    assert names(step)[0] == 'epoch_1.pth', 'its successor may be half there'
    for damaged in (b'', b'\xff\xfe/epo'):
        last.write_bytes(damaged)
        assert names(step)[0] == 'epoch_2.pth'


def test_how_far_a_stopped_run_is(tmp_path):
    folder = WorkDir(str(tmp_path))
    assert folder.how_far().startswith(f'0 steps in {tmp_path} are finished: ')
    (tmp_path / 'step_0').mkdir()
    (tmp_path / 'step_0/finished.json').write_text('{}')
    (tmp_path / 'step_1').mkdir()
    (tmp_path / 'step_1/iter_20.pth').touch()
    assert '1 steps in' in folder.how_far()
    assert 'step 1 has iter_20.pth: the same' in folder.how_far()


def test_logs_of_a_resumed_step(tmp_path):
    step = StepDir(str(tmp_path / 'odd[1]'))
    for stamp in ('20240102', '20240101'):
        path = Path(step.path) / stamp / 'vis_data/scalars.json'
        path.parent.mkdir(parents=True)
        path.touch()
    stamps = [Path(path).parts[-3] for path in step.scalars()]
    assert stamps == ['20240101', '20240102']


def test_search_at_any_depth(tmp_path):
    write_run(tmp_path / 'a/b')
    write_run(tmp_path / 'c')
    found = [folder.path for folder in find_work_dirs(str(tmp_path))]
    assert found == [str(tmp_path / 'a/b'), str(tmp_path / 'c')]
    (empty,) = find_work_dirs(str(tmp_path / 'none'))
    assert empty.path == str(tmp_path / 'none')
