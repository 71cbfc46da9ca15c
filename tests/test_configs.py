"""Every config builds and trains, with a small backbone and small crops."""

from pathlib import Path

import pytest
import torch
from helpers import CONFIGS
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.optim import build_optim_wrapper
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

from mmseg_rbc.datasets import base_datasets
from mmseg_rbc.engine import RunConfig, step_config
from mmseg_rbc.utils.literals import parse_literals

LEAVES = sorted(
    path
    for path in CONFIGS.glob('*/*.py')
    if not path.parent.name.startswith('_')
)
SIZE = 32
# Configs of methods that are later than the RBC paper, by folder: with PLOP or
# MiB on 11 large benchmarks, shapes and voc128, with RBC not on ADE20K; memory
# on VOC 15-1 and 15-5 in two settings, shapes and voc128.
LATER = dict(ewf=13 + 13 + 9, lgkd=13 + 9, awt=13, memory=2 * 6)


def test_number_of_configs():
    """11 methods x (11 large benchmarks, shapes, voc128); 7 of RBC as
    released, its 4 ablations twice; 4 methods on 3 more of voc128; PLOP, RBC
    and 3 ablations where context decides, and those 3 on the shapes; 4
    methods on 3 of Cityscapes. Later methods: see LATER.
    """
    found = [len([*CONFIGS.glob(f'{f}/*.py')]) for f in LATER]
    assert found == [*LATER.values()]
    of_paper = 11 * 13 + 7 + 4 * 2 + 4 * 3 + 5 + 3 + 4 * 3
    assert len(LEAVES) == of_paper + sum(LATER.values())
    assert len({path.name for path in LEAVES}) == len(LEAVES)


def own(path: Path) -> dict:
    """Return what a config file states itself, without its bases."""
    return parse_literals(path.read_text())


def bases(path: Path) -> list[Path]:
    """Return the files that a config file names as its bases."""
    named = own(path).get('_base_', [])
    named = [named] if isinstance(named, str) else named
    return [(path.parent / name).resolve() for name in named]


def test_leaf_benchmark_part():
    """At most three levels, and a leaf says what it runs by itself."""
    for leaf in LEAVES:
        benchmark, method = bases(leaf)
        assert benchmark.parent.name == 'benchmarks'
        assert method.parent.name == 'methods'
        parts = bases(benchmark)
        kinds = [part.parent.name for part in parts]
        small = ['recipes'] if 'r101' not in leaf.name else []
        wanted = ['models', 'datasets', 'schedules', *small, '_base_']
        assert kinds == wanted, leaf
        for part in (method, *parts):
            assert part.is_file() and '_base_' not in part.read_text()
        assert {'task', 'setting'} <= own(leaf)['continual'].keys(), leaf


def test_method_files_are_whole():
    """Each states all of its method and nothing else; all are used."""
    files = sorted((CONFIGS / '_base_/methods').glob('*.py'))
    assert len(files) == 18 + 4 + 3 + 1 + 2
    for path in files:
        assert own(path).keys() == {'method'}, path
        assert 'criterion' in own(path)['method'], path
    used = {bases(leaf)[1] for leaf in LEAVES}
    assert used == set(files)


def small_network(cfg: Config) -> Config:
    """Swap the ResNet-101 for a tiny ResNet-18, all else being equal."""
    norm = dict(type='BN')
    if cfg.model.backbone.type == 'MobileNetV2':
        cfg.model.backbone.pop('init_cfg')
    if cfg.model.backbone.type == 'ResNet':
        cfg.model.backbone.update(
            depth=18, base_channels=4, stem_channels=4, norm_cfg=norm
        )
        cfg.model.backbone.pop('init_cfg')
        cfg.model.decode_head.update(in_channels=32, channels=8, norm_cfg=norm)
    cfg.crop_size = (SIZE, SIZE)
    return cfg


def batch(num_old: int, num_seen: int, views: int) -> dict:
    """Two images (and their erased views) with labels of the step."""
    g = torch.Generator().manual_seed(0)
    items = []
    for _ in range(2):
        image = torch.randint(0, 256, (3, SIZE, SIZE), generator=g)
        image = image.to(torch.uint8)
        label = torch.randint(max(num_old, 1), num_seen, (SIZE, SIZE))
        label[: SIZE // 2] = 0
        pair = []
        for view in ('full', 'erased')[:views]:
            sample = SegDataSample(metainfo=dict(view=view))
            sample.gt_sem_seg = PixelData(data=label[None])
            pair.append(sample)
        if views == 1:
            items.append(dict(inputs=image, data_samples=pair[0]))
        else:
            items.append(dict(inputs=[image, image * 1], data_samples=pair))
    return pseudo_collate(items)


def train_once(cfg: Config, views: int) -> torch.nn.Module:
    model = MODELS.build(cfg.model)
    model.init_weights()
    model.train()
    if getattr(model, 'pseudo_labeler', None) is not None:
        num_old = model.teacher.num_classes
        model.pseudo_labeler.thresholds = torch.full((num_old,), 0.5)
    num_old = cfg.model.get('previous', {}).get('num_classes', 0)
    optim = build_optim_wrapper(model, cfg.optim_wrapper)
    before = model.decode_head.conv_seg.weight.detach().clone()
    logs = model.train_step(batch(num_old, model.num_classes, views), optim)
    named = [f'loss_{name}' for name in cfg.model.method.get('losses', {})]
    assert list(logs) == ['loss', 'loss_ce', *named]
    assert all(torch.isfinite(value) for value in logs.values())
    assert logs['loss_ce'] > 0
    assert not torch.equal(before, model.decode_head.conv_seg.weight)
    return model


BASES: dict[str, torch.nn.Module] = {}


def train_base(cfg: Config) -> torch.nn.Module:
    """Train step 0; the same of another method is not trained again."""
    key = f'{cfg.model} {cfg.optim_wrapper}'
    if key not in BASES:
        torch.manual_seed(0)
        BASES[key] = train_once(cfg, views=1)
    return BASES[key]


@pytest.mark.parametrize('path', LEAVES, ids=lambda path: path.stem)
def test_step_0_and_1_train(path, tmp_path):
    cfg = small_network(Config.fromfile(path))
    task = RunConfig(cfg).task
    method, model_name, data = path.stem.split('_', 2)
    # The name says what is inside.
    setting = cfg.continual.setting
    assert data.endswith(f'-{cfg.continual.task}-{setting}')
    folder = path.parent.name
    assert f'{method}-'.startswith(f'{folder}-') or folder in LATER
    base = train_base(step_config(cfg, 0))
    assert base.num_classes == len(task.seen(0)) and not base.losses
    if method == 'joint':
        assert task.num_steps == 1
        return
    previous = str(tmp_path / 'final.pth')
    torch.save(dict(state_dict=base.state_dict(), meta={}), previous)
    later = step_config(cfg, 1, previous=previous)
    torch.manual_seed(0)
    erases = any(
        t['type'] == 'NewClassErase'
        for t in next(base_datasets(later.train_dataloader.dataset)).pipeline
    )
    assert erases == ('rbc' in method and 'balance' not in method)
    gathers = any(h['type'] == 'ImportanceHook' for h in later.custom_hooks)
    assert gathers == (method in ('ewc', 'pi', 'rw'))
    model = train_once(later, views=2 if erases else 1)
    assert model.num_classes == len(task.seen(1))


def parts(name: str) -> Config:
    (path,) = CONFIGS.glob(f'*/{name}')
    return Config.fromfile(path)


def test_published_hyper_parameters():
    voc = 'deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    ade = 'deeplabv3-r101-d16_ade20k-100-50-overlapped.py'
    ten = 'deeplabv3-r101-d16_voc12aug-10-1-overlapped.py'
    cases = [
        (f'plop_{voc}', 1, 0.001, 30, 24, 0.01, 0.0005),
        (f'rbc_{voc}', 1, 0.001, 30, 12, 0.01, 0.0005),
        (f'plop_{ten}', 1, 0.001, 10, 24, 0.01, 0.0005),
        (f'rbc_{ten}', 1, 0.001, 30, 12, 0.01, 0.0005),
        (f'plop_{ade}', 1, 0.001, 60, 24, 0.001, 0.00001),
        (f'rbc_{ade}', 1, 0.005, 60, 12, 0.001, 0.00001),
    ]
    for name, step, lr, epochs, batch_size, pod, logits in cases:
        cfg = step_config(parts(name), step)
        assert cfg.optim_wrapper.optimizer.lr == lr, name
        assert cfg.train_cfg.max_epochs == epochs, name
        assert cfg.train_dataloader.batch_size == batch_size, name
        loss = cfg.model.method.losses.pod
        assert (loss.weight, loss.logits_weight) == (pod, logits), name
        base = step_config(parts(name), 0)
        assert base.optim_wrapper.optimizer.lr == 0.01
        assert base.train_dataloader.batch_size == 24


def test_paper_and_released_differ_as_documented():
    tail = 'deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    paper = step_config(parts(f'rbc_{tail}'), 1).model.method
    released = step_config(parts(f'rbc-released_{tail}'), 1).model.method
    assert paper.balance and not released.get('balance')
    assert paper.losses.consistency.pairing == 'student'
    assert released.losses.consistency.pairing == 'teacher'
    for method in (paper, released):
        assert method.pseudo_labeler.estimator == 'published'
    erase = [
        step_config(parts(f'{name}_{tail}'), 1)
        .train_dataloader.dataset.dataset.pipeline[-2]
        .get('erase_void', False)
        for name in ('rbc', 'rbc-released')
    ]
    assert erase == [False, True]
    assert paper.losses.consistency.weight == 0.01


def test_every_task_is_reachable_by_options():
    cfg = parts('rbc_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py')
    cfg.merge_from_dict(
        {'continual.task': '5-3', 'continual.order': 'c', 'continual.seed': 4}
    )
    step = step_config(cfg, 5)
    assert step.model.decode_head.num_classes == 21
    assert step.train_dataloader.dataset.dataset.order == 'c'
