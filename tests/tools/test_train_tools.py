"""The shell scripts and tools as a user calls them, on two processes."""

import json

from helpers import CONFIGS, run_tool

CONFIG = CONFIGS / 'ft/ft_fcn-tiny_shapes-15-1-overlapped.py'


def test_distributed_sequence_and_evaluation(tiny_root, tmp_path):
    options = [
        '--cfg-options',
        f'continual.data_root={tiny_root}',
        'continual.task=15-5',
        'schedule.base.epochs=1',
        'schedule.later.epochs=1',
    ]
    work_dir = tmp_path / 'run'
    out = run_tool(
        'dist_train.sh', CONFIG, 2, '--work-dir', work_dir, *options
    )
    assert 'mIoU old' in out and f'results: {work_dir}/summary.json' in out
    # The dumps of a Runner are in its log only: two steps are 90 lines, of
    # which half are tables of the classes.
    assert 'custom_hooks' not in out and len(out.splitlines()) < 140
    for log in work_dir.glob('step_*/*/*.log'):
        assert 'custom_hooks' in log.read_text()
    for step in (0, 1):
        folder = work_dir / f'step_{step}'
        done = json.loads((folder / 'finished.json').read_text())
        final = folder / 'final.pth'
        # One process sees each image once; so must two of a padded sampler.
        run_tool('test.py', CONFIG, final, *options)
        result = json.loads((folder / 'test/metrics.json').read_text())
        assert result['step'] == step and result['num_images'] == 6
        assert round(result['mIoU']['all'], 2) == done['metrics']['mIoU']
    run_tool('dist_test.sh', CONFIG, final, 2, *options)
    again = json.loads((folder / 'test/metrics.json').read_text())
    assert again == result
    out = run_tool('analysis_tools/print_summary.py', work_dir)
    assert 'mIoU all' in out


def test_checkpoint_of_another_config(tiny_run, tiny_root, tmp_path):
    """Evaluation would otherwise give a number, and no word."""
    final = tiny_run / 'step_1/final.pth'
    config = tmp_path / 'several.py'
    config.write_text(
        f'_base_ = {str(CONFIG)!r}\n'
        "test_evaluator = [dict(type='ContinualIoUMetric'), "
        "dict(type='IoUMetric', prefix='stock')]\n"
        f"continual = dict(data_root={tiny_root!r}, task='15-5')\n"
    )
    common = ['test.py', config, final, '--work-dir', tmp_path]
    for option, sentence in [
        ('continual.order=b', 'trained with classes (21 entries: background'),
        ('continual.task=15-1', 'but the config is of classes (17 entries:'),
        ('continual.setting=disjoint', "the config is of setting 'disjoint'"),
        ('model.backbone.depth=34', 'is of another network than that of the'),
    ]:
        options = ['--cfg-options', option]
        assert sentence in run_tool(*common, *options, expected=1)
        assert not (tmp_path / 'metrics.json').exists()
    # A list of evaluators works as well.
    run_tool(*common)
    assert json.loads((tmp_path / 'metrics.json').read_text())['step'] == 1


def test_check_only(tiny_root, tmp_path):
    """One sentence for a mistake that only step 1 has; nothing is written.

    The config is as plain as a stock one.
    """
    work_dir, plain = tmp_path / 'run', tmp_path / 'plain.py'
    plain.write_text(
        f'_base_ = {str(CONFIG)!r}\n'
        'custom_imports = test_pipeline = None\n'
        "model = dict(type='EncoderDecoder', "
        "data_preprocessor=dict(type='SegDataPreProcessor'))\n"
    )
    command = ['train.py', plain, '--check', '--work-dir', work_dir]
    command += ['--cfg-options', f'continual.data_root={tiny_root}']
    out = run_tool(*command)
    assert 'can be trained: all steps are checked' in out
    loss = 'method.losses.kd.type=KnowledgeDistillationLoss'
    wrong = 'method.pseudo_labeler.type=EntropyPseudoLabeler'
    out = run_tool(*command, loss, wrong, 'custom_hooks=[]', expected=1)
    lines = out.splitlines()
    assert lines[-1].startswith('error: step 1 fails in a trial with two ima')
    assert not work_dir.exists()
