from types import SimpleNamespace

import pytest
from mmengine.logging import MessageHub
from mmengine.registry import LOG_PROCESSORS


@pytest.fixture
def runner(tmp_path):
    """What MMEngine's log processor reads of a Runner in epoch 2 of 3."""
    hub = MessageHub.get_instance(f'log_{tmp_path.name}')
    for mode in ('train', 'val'):
        hub.update_scalar(f'{mode}/time', 2.0)
        hub.update_scalar(f'{mode}/data_time', 0.5)
    hub.update_scalar('train/loss', 0.25)
    hub.update_scalar('val/mIoU', 50.0)
    hub.update_info('eta', 30.9)
    loop = SimpleNamespace(dataloader=range(10))
    return SimpleNamespace(
        message_hub=hub,
        _train_loop=loop,
        _val_loop=loop,
        train_loop=loop,
        val_loop=loop,
        epoch=1,
        max_epochs=3,
        iter=14,
    )


def build(**kwargs):
    cfg = dict(type='ContinualLogProcessor', step=2, last_step=5, **kwargs)
    return LOG_PROCESSORS.build(cfg)


def test_step_and_time_left_of_the_sequence(runner):
    """30.9 s of this step, and 100 later iterations of 2 s."""
    processor = build(later_iters=100)
    tag, text = processor.get_log_after_iter(runner, 4, 'train')
    assert tag['sequence_eta'] == 230
    assert text.startswith('step 2/5  Epoch(train) [2][ 5/10]')
    assert '  eta: 0:00:30  ' in text
    assert text.endswith('loss: 0.2500  eta of sequence: 0:03:50')


def test_last_step_has_nothing_after_it(runner):
    tag, _ = build().get_log_after_iter(runner, 4, 'train')
    assert tag['sequence_eta'] == 30


def test_evaluation_names_the_step_only(runner):
    processor = build(later_iters=100)
    tag, text = processor.get_log_after_iter(runner, 4, 'val')
    assert text.startswith('step 2/5  Epoch(val)')
    assert 'sequence_eta' not in tag and 'sequence' not in text
    tag, text = processor.get_log_after_epoch(runner, 10, 'val')
    assert text.startswith('step 2/5  Epoch(val) [1][10/10]')
    assert tag['mIoU'] == 50
