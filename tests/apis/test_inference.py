"""Networks of any step, with our calls and with those of MMSeg."""

import json
import shutil
from pathlib import Path

import mmcv
import numpy as np
import pytest
import torch
from mmseg.apis import MMSegInferencer, inference_model, init_model
from mmseg.models import EncoderDecoder

from mmseg_rbc.apis import load_network, network_config, predict


@pytest.fixture
def image(tiny_root) -> str:
    return str(sorted((Path(tiny_root) / 'JPEGImages').iterdir())[0])


@pytest.mark.parametrize('step', [0, 1])
def test_predictions_agree_with_mmseg(tiny_run, image, step):
    folder = tiny_run / f'step_{step}'
    checkpoint = str(folder / 'final.pth')
    model = load_network(checkpoint)
    assert type(model) is EncoderDecoder and not model.training
    assert len(model.dataset_meta['classes']) == (16 if step == 0 else 21)
    labels = predict(model, image)
    assert labels.shape == (48, 64) and labels.dtype == np.uint8
    assert (predict(model, mmcv.imread(image)) == labels).all()
    assert (predict(model, image) == labels).all(), 'a path after an array'
    # As MMSeg's users do it, with the config beside the checkpoint.
    config = str(folder / 'config.py')
    stock = init_model(config, checkpoint, device='cpu')
    found = inference_model(stock, image).pred_sem_seg.data[0]
    assert (found.numpy() == labels).all()
    inferencer = MMSegInferencer(config, checkpoint, device='cpu')
    result = inferencer(image, return_datasamples=True)
    assert (result.pred_sem_seg.data[0].numpy() == labels).all()


def test_config_without_the_checkpoints_own(tiny_run, tmp_path):
    content = torch.load(tiny_run / 'step_1/final.pth', weights_only=True)
    del content['meta']['cfg']
    path = tmp_path / 'final.pth'
    torch.save(content, path)
    with pytest.raises(ValueError, match='holds no config'):
        network_config(str(path))
    shutil.copy(tiny_run / 'step_1/config.py', tmp_path)
    assert network_config(str(path)).model.decode_head.num_classes == 21


def test_code_in_a_checkpoint_is_not_run(tiny_run, tmp_path):
    content = torch.load(tiny_run / 'step_1/final.pth', weights_only=True)
    mark = tmp_path / 'mark'
    content['meta']['cfg'] = f'model = open({str(mark)!r}, "w")'
    torch.save(content, tmp_path / 'final.pth')
    with pytest.raises(ValueError, match='calls a function'):
        network_config(str(tmp_path / 'final.pth'))
    assert not mark.exists()


def test_missing_checkpoint():
    with pytest.raises(FileNotFoundError, match='expected a checkpoint such'):
        load_network('nowhere.pth')


def test_metrics_agree_with_predictions(tiny_run):
    """The IoU of metrics.json is that of predict() on the images."""
    from mmengine.runner import Runner

    cfg = network_config(str(tiny_run / 'step_1/final.pth'))
    loader = Runner.build_dataloader(cfg.val_dataloader)
    model = load_network(str(tiny_run / 'step_1/final.pth'))
    right = total = 0
    for batch in loader:
        (sample,) = batch['data_samples']
        label = sample.gt_sem_seg.data[0].numpy()
        labels = predict(model, sample.img_path)
        right += ((labels == 0) & (label == 0)).sum()
        total += (((labels == 0) | (label == 0)) & (label != 255)).sum()
    metrics = json.loads((tiny_run / 'step_1/metrics.json').read_text())
    assert metrics['IoU']['background'] == pytest.approx(100 * right / total)


@pytest.mark.parametrize(
    'text, sentence',
    [
        ('model = dict()', 'cannot be built .*backbone'),
        ('model = dict(type=["os.system"])', 'cannot be built .*backbone'),
        ('train_dataloader = 3\nmodel = {}', 'train_dataloader is 3, expec'),
        ('model = 3', 'holds no config'),
    ],
)
def test_config_of_another_kind(tiny_run, tmp_path, text, sentence):
    path = tmp_path / 'final.pth'
    content = torch.load(tiny_run / 'step_1/final.pth', weights_only=True)
    content['meta']['cfg'] = text
    torch.save(content, path)
    with pytest.raises(ValueError, match=f'{path}.*{sentence}'):
        load_network(str(path))


def test_checkpoint_of_another_network(tiny_run, tmp_path):
    path = tmp_path / 'final.pth'
    content = torch.load(tiny_run / 'step_1/final.pth', weights_only=True)
    weights = content['state_dict']
    name = next(iter(weights))
    weights[f'{name}x'] = weights.pop(name)
    torch.save(content, path)
    with pytest.raises(ValueError, match='1 are missing .*; 1 are unknown'):
        load_network(str(path))
