"""The shell scripts and tools as a user calls them, on two processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).parents[2]
CONFIG = str(REPO / 'configs/ft/ft_fcn-tiny_shapes-15-1-overlapped.py')


def run(*command: str) -> str:
    path = f'{Path(sys.executable).parent}:{os.environ["PATH"]}'
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PATH=path, OMP_NUM_THREADS='1', PORT='29561'),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_distributed_sequence_and_evaluation(tiny_root, tmp_path):
    options = [
        '--cfg-options',
        f'continual.data_root={tiny_root}',
        'continual.task=15-5',
        'schedule.base.epochs=1',
        'schedule.later.epochs=1',
    ]
    work_dir = str(tmp_path / 'run')
    script = str(REPO / 'tools/dist_train.sh')
    out = run('bash', script, CONFIG, '2', '--work-dir', work_dir, *options)
    assert 'mIoU old' in out and f'results: {work_dir}/summary.json' in out
    for step in (0, 1):
        folder = tmp_path / f'run/step_{step}'
        done = json.loads((folder / 'finished.json').read_text())
        final = str(folder / 'final.pth')
        # One process sees each image once; so must two of a padded sampler.
        tool = str(REPO / 'tools/test.py')
        run(sys.executable, tool, CONFIG, final, *options)
        result = json.loads((folder / 'test/metrics.json').read_text())
        assert result['step'] == step and result['num_images'] == 6
        assert round(result['mIoU']['all'], 2) == done['metrics']['mIoU']
    script = str(REPO / 'tools/dist_test.sh')
    run('bash', script, CONFIG, final, '2', *options)
    again = json.loads((folder / 'test/metrics.json').read_text())
    assert again == result
    summary = str(REPO / 'tools/analysis_tools/print_summary.py')
    assert 'mIoU all' in run(sys.executable, summary, work_dir)
