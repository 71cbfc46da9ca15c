"""Every config here runs its payload once the user trusts checkpoints."""

import shutil
import sys
from pathlib import Path

import numpy as np
import payloads
import pytest
from mmengine.config import Config
from mmseg.registry import DATASETS, MODELS
from torch import nn

from mmseg_rbc.apis import (
    build_dataset,
    load_network,
    network_config,
    predict,
)
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.utils.safe_loading import TRUST

IMAGE = np.zeros((48, 64, 3), np.uint8)


@pytest.fixture
def mark(tmp_path) -> Path:
    return tmp_path / 'mark'


@pytest.fixture
def checkpoint(tiny_run, tmp_path) -> Path:
    return Path(shutil.copy(tiny_run / 'step_1/final.pth', tmp_path))


def neck(cfg, mark):
    cfg.model.neck = payloads.system_config(mark)


def loss(cfg, mark):
    cfg.model.decode_head.loss_decode = [payloads.system_config(mark)]


def scoped(cfg, mark):
    """A registry imports <scope>.registry to look for a name."""
    cfg.model.neck = dict(type='stranger.Neck')


def scope(cfg, mark):
    cfg.model.neck = dict(type='FPN', _scope_='stranger')


def module(cfg, mark):
    """A name without dots is tried as a module."""
    cfg.model.neck = dict(type='stranger')


def module_of_another_key(cfg, mark):
    cfg.test_pipeline.append(
        dict(type='RandomResize', scale=(9, 9), resize_type='stranger')
    )


def default_scope(cfg, mark):
    cfg.default_scope = 'stranger'


def pickled_weight(cfg, mark):
    """MMSeg's losses load the file that a class weight names."""
    path = payloads.write_pickle(mark.with_name('weight.pkl'), mark)
    cfg.model.decode_head.loss_decode = dict(
        type='CrossEntropyLoss', class_weight=str(path)
    )


def yaml_weight(cfg, mark):
    """MMEngine reads YAML with the loader that calls functions."""
    path = mark.with_name('weight.yaml')
    path.write_text(f'!!python/object/apply:os.system ["touch {mark}"]')
    cfg.model.decode_head.loss_decode = dict(
        type='CrossEntropyLoss', class_weight=str(path)
    )


def weight_without_a_suffix(cfg, mark):
    """A file of the working directory, whose name is a format."""
    payloads.write_pickle(mark.with_name('pkl'), mark)
    cfg.model.decode_head.loss_decode = dict(
        type='CrossEntropyLoss', class_weight='pkl'
    )


def script(cfg, mark):
    """An import takes names that are no identifiers."""
    (mark.parent / 'path/my-script.py').write_text(payloads.code(mark))
    cfg.test_pipeline.append(
        dict(type='RandomResize', scale=(9, 9), resize_type='my-script')
    )


def transform(cfg, mark):
    cfg.test_pipeline.append(payloads.system_config(mark))


def nested_transform(cfg, mark):
    inner = payloads.system_config(mark)
    cfg.test_pipeline.append(dict(type='RandomApply', transforms=[inner]))


@pytest.fixture
def stranger(tmp_path, monkeypatch, mark):
    """A package that leaves a mark when it is imported."""
    package = tmp_path / 'path/stranger'
    package.mkdir(parents=True)
    (package / '__init__.py').write_text(payloads.code(mark))
    (package / 'registry.py').write_text('')
    monkeypatch.syspath_prepend(str(package.parent))
    yield
    for name in ('stranger', 'stranger.registry', 'my-script'):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    'attack, where',
    [
        (neck, "model.neck.type='os.system'"),
        (loss, r"model.decode_head.loss_decode\[0\].type='os.system'"),
        (scoped, "model.neck.type='stranger.Neck'"),
        (scope, "model.neck._scope_='stranger'"),
        (module, "model.neck.type='stranger'"),
        (module_of_another_key, "resize_type='stranger'"),
        (pickled_weight, r'loss_decode.class_weight=.*weight.pkl'),
        (yaml_weight, r'loss_decode.class_weight=.*weight.yaml'),
        (weight_without_a_suffix, "class_weight='pkl'"),
        (script, "resize_type='my-script'"),
        (transform, r"test_pipeline\[\d\].type='os.system'"),
        (nested_transform, r".transforms\[0\].type='os.system'"),
    ],
)
@pytest.mark.usefixtures('stranger')
def test_payload_is_refused(checkpoint, mark, monkeypatch, attack, where):
    monkeypatch.chdir(mark.parent)
    payloads.edit_config(checkpoint, lambda cfg: attack(cfg, mark))
    with pytest.raises(ValueError, match=f'final.pth: .*{where}.* is refused'):
        load_network(str(checkpoint))
    assert not mark.exists()
    run_trusted(checkpoint, monkeypatch)
    assert mark.exists(), 'the payload can run'


def run_trusted(checkpoint, monkeypatch) -> None:
    """Use a network as the user of a trusted checkpoint does."""
    monkeypatch.setenv(TRUST, '1')
    try:
        predict(load_network(str(checkpoint)), IMAGE)
    except Exception as error:
        print(f'after the payload: {error}')


@pytest.mark.usefixtures('stranger')
def test_what_is_not_needed_is_not_there(checkpoint, mark, monkeypatch):
    """It can neither run nor keep the network from running."""

    def change(cfg):
        default_scope(cfg, mark)
        cfg.custom_imports = dict(imports=['stranger'])
        cfg.custom_hooks = [payloads.system_config(mark)]
        cfg.visualizer = payloads.system_config(mark)
        train = next(base_datasets(cfg.train_dataloader.dataset))
        train.pipeline = [payloads.system_config(mark)]

    payloads.edit_config(checkpoint, change)
    cfg = network_config(str(checkpoint))
    assert set(cfg) == {
        'model',
        'test_pipeline',
        'val_dataloader',
        'train_dataloader',
    }
    assert cfg.train_dataloader.dataset.pipeline == []
    assert predict(load_network(str(checkpoint)), IMAGE).shape == (48, 64)
    assert not mark.exists()
    run_trusted(checkpoint, monkeypatch)
    assert mark.exists()


def test_nothing_is_fetched(checkpoint):
    """No weights of elsewhere, whatever the config says they start from."""

    def change(cfg):
        start = dict(type='Pretrained', checkpoint='http://127.0.0.1:9/a')
        cfg.model.backbone.init_cfg = start
        cfg.model.decode_head.init_cfg = [start]
        cfg.model.pretrained = 'http://127.0.0.1:9/b.pth'

    payloads.edit_config(checkpoint, change)
    cfg = network_config(str(checkpoint))
    assert 'http' not in cfg.pretty_text and 'init_cfg' not in cfg.model
    assert 'Pretrained' not in repr(load_network(str(checkpoint)))


def test_timm_does_not_download(checkpoint):
    """It does unless it is told not to; a path is not kept either."""

    def change(cfg):
        cfg.model.backbone = dict(
            type='mmseg.TIMMBackbone', model_name='a', checkpoint_path='b'
        )

    payloads.edit_config(checkpoint, change)
    assert network_config(str(checkpoint)).model.backbone == dict(
        type='mmseg.TIMMBackbone', model_name='a', pretrained=False
    )


def on_the_web(dataset, mark):
    dataset.data_root = 'http://127.0.0.1:9/data'


def by_a_backend(dataset, mark):
    dataset.backend_args = dict(backend='http')


def pickled_list(dataset, mark):
    dataset.ann_file = 'list.pkl'


def of_another_package(dataset, mark):
    dataset.update(payloads.system_config(mark))


def pickled_images(dataset, mark):
    reader = dict(type='LoadBiomedicalData', decode_backend='pickle')
    dataset.pipeline.insert(0, reader)


@pytest.mark.parametrize(
    'attack, where',
    [
        (on_the_web, "data_root='http://127"),
        (by_a_backend, 'backend_args='),
        (pickled_list, "ann_file='list.pkl'"),
        (of_another_package, "type='os.system'"),
        (pickled_images, r"pipeline\[0\].decode_backend='pickle'"),
    ],
)
def test_data_is_refused(checkpoint, mark, attack, where):
    def change(cfg):
        attack(next(base_datasets(cfg.val_dataloader.dataset)), mark)

    payloads.edit_config(checkpoint, change)
    with pytest.raises(ValueError, match=f'val_dataloader.dataset.{where}'):
        network_config(str(checkpoint))
    assert not mark.exists()


def test_data_of_another_kind(checkpoint):
    cfg = network_config(str(checkpoint))
    assert len(build_dataset(cfg.val_dataloader.dataset)) == 6
    other = dict(type='BaseSegDataset')
    with pytest.raises(ValueError, match='data of BaseSegDataset, expected a'):
        build_dataset(other)
    assert DATASETS.get('BaseSegDataset') is not None


def test_what_the_user_registers_is_known(checkpoint):
    """Also with the scope in front, as MMSeg's configs name parts."""

    class OwnNeck(nn.Identity):
        pass

    def change(cfg):
        cfg.model.neck = dict(type='mmseg.OwnNeck')

    payloads.edit_config(checkpoint, change)
    with pytest.raises(ValueError, match="neck.type='mmseg.OwnNeck' is refu"):
        load_network(str(checkpoint))
    MODELS.register_module(module=OwnNeck)
    try:
        network = load_network(str(checkpoint))
    finally:
        MODELS.module_dict.pop('OwnNeck')
    assert isinstance(network.neck, OwnNeck)


def test_models_of_mmseg_are_known():
    """But those of packages that are not imported, and one that imports."""
    import mmseg

    from mmseg_rbc.apis.embedded_config import network_parts

    folder = Path(mmseg.__file__).parent / '.mim/configs/_base_/models'
    refused = []
    paths = sorted(folder.glob('*.py'))
    for path in paths:
        cfg = Config.fromfile(path, import_custom_modules=False)
        try:
            assert 'decode_head' in network_parts(cfg.to_dict(), 'a').model
        except ValueError:
            refused.append(path.stem)
    assert len(paths) >= 50
    assert refused == ['fpn_poolformer_s12', 'upernet_convnext', 'vpd_sd']
