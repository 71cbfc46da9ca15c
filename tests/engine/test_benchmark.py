"""Plans of many runs; test_run_benchmark.py runs them."""

import pytest
from helpers import leaf, make_tiny_config

from mmseg_rbc.engine.benchmark import (
    iterations_left,
    plan_jobs,
    plan_lines,
    train_command,
)
from mmseg_rbc.engine.survey import num_train_images


def test_methods_share_step_0_where_it_is_the_same():
    sharing = ['ft', 'lwf', 'ilt', 'mib', 'plop', 'rbc']
    alone = ['lwf-mc', 'ewc', 'pi', 'rw', 'joint']
    jobs = plan_jobs([leaf(m) for m in [*sharing, *alone]], [0], 'work')
    shared = [job.shares and job.shares.config for job in jobs]
    assert shared == [None] + [leaf('ft')] * 5 + [None] * 5


def test_tasks_share_step_0_where_it_is_the_same():
    tasks = ['15-1-overlapped', '15-5-overlapped', '15-5-disjoint']
    jobs = plan_jobs([leaf('ft', t) for t in tasks], [0, 1], 'work')
    assert [job.shares and job.shares.name for job in jobs] == [
        None,
        'ft_deeplabv3-r101-d16_voc12aug-15-1-overlapped, seed 0',
        None,
        None,
        'ft_deeplabv3-r101-d16_voc12aug-15-1-overlapped, seed 1',
        None,
    ]
    assert len({job.folder.path for job in jobs}) == 6
    joint = plan_jobs([leaf('joint', t) for t in tasks[:2]], [0], 'work')
    assert joint[1].shares is joint[0]


def test_two_runs_in_one_folder(tmp_path):
    with pytest.raises(ValueError, match='would both run in'):
        plan_jobs([leaf('ft')], [0, 0], tmp_path)


def test_unknown_config():
    with pytest.raises(FileNotFoundError):
        plan_jobs(['nowhere.py'], [0], 'work')


def test_command_of_one_step():
    _, job = plan_jobs([leaf('ft'), leaf('mib')], [3], 'work')
    command = train_command(job, 1, 'train.py', ['a.b=1'], step=0)
    assert command[1:4] == ['train.py', leaf('mib'), '--resume']
    assert command[-5:] == [
        *('--step', '0', '--cfg-options', 'a.b=1', 'randomness.seed=3')
    ]
    assert 'torch.distributed.run' not in command


def test_costs(tiny_root, tmp_path):
    """Two epochs of whole batches of 8 images, or of 4 and 4 erased ones."""
    options = make_tiny_config(tiny_root)[1]
    names = [leaf(m, model='fcn-tiny_shapes') for m in ('ft', 'rbc', 'ewc')]
    jobs = plan_jobs(names, [0], str(tmp_path), options)
    counts = [iterations_left(job) for job in jobs]
    images = [num_train_images(jobs[0].run.step(step)) for step in (0, 1)]
    assert counts == [
        [2 * (images[0] // 8), 2 * (images[1] // 8)],
        [0, 2 * (images[1] // 4)],
        [2 * (images[0] // 8), 2 * (images[1] // 8)],
    ]
    total = sum(map(sum, counts))
    *lines, last = plan_lines(jobs)
    share = 100 * sum(counts[0]) / total
    assert lines[0].endswith(
        f'seed 0: to run, {sum(counts[0])} iterations ({share:.1f} %)'
    )
    assert lines[1].endswith(f', step 0 of {jobs[0].name}')
    assert last == f'3 runs, 3 to run, {total} iterations in all'
    done = dict(jobs[0].run.identity(0), metrics={})
    jobs[0].folder.step(0).write_finished(done)
    assert iterations_left(jobs[0]) == [0, counts[0][1]]
    more = iterations_left(jobs[1], processes=8)
    assert more == [0, counts[0][1]], 'eight duplets a batch'


def test_costs_without_data(tmp_path):
    options = {'continual.data_root': str(tmp_path / 'none')}
    jobs = plan_jobs([leaf('ft')], [0], str(tmp_path), options)
    line, last = plan_lines(jobs)
    assert line == f'{jobs[0].name}: to run'
    assert last.startswith('the costs are not known: ')
