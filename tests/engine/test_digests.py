from helpers import CONFIGS
from mmengine.config import Config

from mmseg_rbc.engine import step_config
from mmseg_rbc.engine.digests import training_digests


def whole(method: str = 'ft') -> Config:
    name = f'{method}_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    return Config.fromfile(CONFIGS / method / name)


def digests(cfg: Config, step: int = 0, **kwargs) -> dict[str, str]:
    return training_digests(step_config(cfg, step, **kwargs))


def test_digests_tell_trainings_apart():
    base = digests(whole('ft'))
    for method, changed in (
        ('mib', set()),
        ('rbc', set()),
        ('ewc', {'custom_hooks'}),
        ('lwf-mc', {'model'}),
    ):
        other = digests(whole(method))
        assert {k for k in base if base[k] != other[k]} == changed, method
    cfg = whole('ft')
    cfg.continual.task = '15-5'
    cfg.train_dataloader.num_workers = 9
    assert digests(cfg) == base
    cfg.schedule.base.lr = 1
    assert digests(cfg) != base


def test_paths_and_processes_do_not_matter():
    base = digests(whole('ewc'), 1, previous='a/final.pth')
    assert digests(whole('ewc'), 1, previous='b/final.pth') == base
    cfg = step_config(whole('ewc'), 1, 'elsewhere', 'c.pth', world_size=4)
    assert training_digests(cfg) == base
    assert cfg.train_dataloader.batch_size == 24, 'of all processes'


def test_memory():
    """Step 0 is shared; later its size matters, and not where it lies."""
    plain, memory = whole('plop'), whole('plop')
    memory.method.memory = dict(size=100)
    assert digests(memory) == digests(plain)
    one = digests(memory, 1, previous='a/final.pth')
    assert digests(memory, 1, previous='b/final.pth') == one
    assert digests(plain, 1, previous='a/final.pth') != one
    memory.method.memory.size = 50
    other = digests(memory, 1, previous='a/final.pth')
    assert {k for k in one if one[k] != other[k]} == {'custom_hooks'}
