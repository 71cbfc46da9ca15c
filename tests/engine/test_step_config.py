import pytest
from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.datasets import base_datasets
from mmseg_rbc.engine import RunConfig, step_config

PARTS = ('continual', 'method', 'schedule', 'crop_size')


def load(name: str, **continual) -> Config:
    cfg = Config.fromfile(CONFIGS / '_base_/datasets' / name)
    if continual:
        cfg.continual = continual
    return cfg


def test_task_and_step_reach_every_dataset():
    cfg = load('continual_voc12aug.py', task='15-1', setting='disjoint')
    out = step_config(cfg, 2)
    for phase in ('train', 'val', 'test'):
        (dataset,) = base_datasets(out[f'{phase}_dataloader'].dataset)
        assert dataset.task == '15-1' and dataset.setting == 'disjoint'
        assert dataset.step == 2
        assert dataset.test_mode == (phase != 'train')
    assert 'step' not in cfg.train_dataloader.dataset


def test_wrapped_datasets():
    cfg = load('continual_voc12aug.py', task='15-1')
    inner = cfg.train_dataloader.dataset
    wrapped = dict(type='ConcatDataset', datasets=[inner, inner])
    cfg.train_dataloader.dataset = dict(
        type='RepeatDataset', times=2, dataset=wrapped
    )
    out = step_config(cfg, 3).train_dataloader.dataset.dataset
    assert [d.step for d in out.dataset.datasets] == [3, 3]
    assert 'step' not in out


def test_missing_task():
    with pytest.raises(ValueError, match='has no continual.task: write'):
        step_config(load('continual_shapes.py'), 0)


def whole(method: str = 'ft') -> Config:
    name = f'{method}_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    return Config.fromfile(CONFIGS / method / name)


def test_joint_learns_all_classes_of_the_task_at_once():
    cfg = whole('joint')
    out = step_config(cfg, 0)
    assert out.train_dataloader.dataset.dataset.task == 'offline'
    assert out.val_evaluator.num_base == 16
    cfg.continual.task = [['dog', 'cat'], ['cow'], ['bus']]
    out = step_config(cfg, 0)
    assert out.train_dataloader.dataset.dataset.task == [
        ['dog', 'cat', 'cow', 'bus']
    ]
    assert out.model.decode_head.num_classes == 5
    assert out.val_evaluator.num_base == 3


def test_importance_becomes_a_hook_in_all_steps():
    for step in (0, 1):
        hooks = step_config(whole('ewc'), step, previous='x').custom_hooks
        assert hooks[-1].type == 'ImportanceHook'
        assert hooks[-1].regularizer.type == 'EWC'
    assert 'importance' not in step_config(whole('ewc'), 1).model.method


def test_parts_of_a_run_are_not_in_its_steps():
    """Nor does an option bring one back."""
    options = {
        'schedule.later.epochs': 7,
        'schedule.base.lr': 0.5,
        'continual.task': '10-5',
        'crop_size': (32, 32),
        'method.balance': False,
        'randomness.seed': 5,
    }
    cfg = whole('rbc')
    cfg.merge_from_dict(options)
    run = RunConfig(cfg, options)
    steps = run.steps('work')
    assert len(steps) == 3
    for step, out in enumerate(steps):
        assert not set(PARTS) & set(out)
        assert out.train_cfg.max_epochs == (7 if step else 30)
        assert out.optim_wrapper.optimizer.lr == (0.001 if step else 0.5)
        assert out.randomness.seed == 5
        assert out.train_dataloader.dataset.dataset.task == '10-5'
        assert out.model.data_preprocessor.size == (32, 32)
    assert steps[1].model.method.balance is False
    assert set(PARTS) <= set(cfg), 'the config of the run keeps them'


def test_options_win_over_what_a_step_derives():
    cfg = whole()
    options = {'optim_wrapper.optimizer.lr': 0.3, 'train_cfg.max_epochs': 2}
    for out in RunConfig(cfg, options).steps('work')[:2]:
        assert out.optim_wrapper.optimizer.lr == 0.3
        assert out.train_cfg.max_epochs == 2


def test_steps_of_a_run():
    """15-1 has six steps; each starts from the one before."""
    steps = RunConfig(whole('plop')).steps('work/plop', world_size=2)
    folders = [f'work/plop/step_{step}' for step in range(6)]
    assert [out.work_dir for out in steps] == folders
    sizes = [out.model.decode_head.num_classes for out in steps]
    assert sizes == [16, 17, 18, 19, 20, 21]
    assert 'previous' not in steps[0].model
    for step in range(1, 6):
        previous = steps[step].model.previous
        assert previous.checkpoint == f'{folders[step - 1]}/final.pth'
        assert previous.num_classes == sizes[step - 1]
        assert previous.expected.step == step - 1
        assert len(previous.expected.classes) == sizes[step - 1]
    assert all(out.train_dataloader.batch_size == 24 for out in steps)
    assert steps[3].val_evaluator.out_file == f'{folders[3]}/metrics.json'
    assert steps[3].log_processor.step == 3
    assert steps[3].log_processor.last_step == 5


def test_identity_tells_runs_apart():
    base = RunConfig(whole('ft'))
    assert base.identity(0) == RunConfig(whole('rbc')).identity(0)
    assert base.identity(0) != RunConfig(whole('lwf-mc')).identity(0)
    cfg = whole('ft')
    cfg.continual.task = '15-5'
    assert RunConfig(cfg).identity(0) == base.identity(0)
    assert RunConfig(cfg).identity(1) != base.identity(1)
    assert base.identity(1)['classes'][-1] == 'pottedplant'


def test_method_of_step_0_and_of_later_ones():
    base, later = RunConfig(whole('lwf-mc')).steps('work')[:2]
    assert base.model.method == dict(
        criterion=dict(type='OneVsRestCrossEntropy')
    )
    assert set(later.model.method) == {
        'criterion',
        'classifier_init',
        'losses',
    }
    base = step_config(whole('mib'), 0)
    assert base.model.method == dict(criterion=dict(type='PixelCrossEntropy'))


def test_every_head_gets_the_classes_of_the_step():
    cfg = whole()
    head = dict(type='FCNHead', in_channels=8, channels=8)
    cfg.model.auxiliary_head = [head, dict(head)]
    out = step_config(cfg, 2)
    heads = [out.model.decode_head, *out.model.auxiliary_head]
    assert [head.num_classes for head in heads] == [18, 18, 18]
    cfg.model.auxiliary_head = head
    assert step_config(cfg, 2).model.auxiliary_head.num_classes == 18
