"""Read and write networks of stock MMSeg."""

import copy
import os

import pytest
import torch
from helpers import assert_equal_weights, weights
from mmengine.config import Config
from payloads import Call, touch
from stock_networks import CLASSES, COLORS, write_stock

from mmseg_rbc.engine.stock import (
    _names,
    decode_heads,
    export_stock,
    load_stock,
)


def rewrite(path: str, **meta) -> None:
    """Save a checkpoint with another meta."""
    content = torch.load(path, weights_only=True)
    torch.save(dict(content, meta=meta), path)


@pytest.mark.parametrize(
    'meta', [{}, dict(CLASSES=CLASSES, PALETTE=list(COLORS[:3]))]
)
def test_names_of_classes(tmp_path, meta):
    """In the checkpoint, as before MMSeg 1.0, or in the config."""
    stock = write_stock(tmp_path)
    found = load_stock(*stock)
    rewrite(stock[1], **meta)
    again = load_stock(*stock)
    assert again.metainfo == found.metainfo
    assert found.classes == list(CLASSES)
    assert found.palette == list(COLORS[:3])
    assert not found.has_background


def test_other_networks_get_a_sentence(tmp_path):
    config, checkpoint = write_stock(tmp_path)
    with pytest.raises(FileNotFoundError, match='expected the checkpoint of'):
        load_stock(config, 'nowhere.pth')
    rewrite(checkpoint, dataset_meta=dict(classes=('a', 'b')))
    with pytest.raises(ValueError, match='names 2 classes, .* network has 3'):
        load_stock(config, checkpoint)
    cfg = Config.fromfile(config)
    # As the config of K-Net has it.
    head = cfg.model.decode_head.to_dict()
    cfg.model.decode_head = dict(type='IterativeDecodeHead', kernel=head)
    cfg.dump(config)
    with pytest.raises(ValueError, match='IterativeDecodeHead has a loss of'):
        load_stock(config, checkpoint)
    cfg.model.decode_head = {k: head[k] for k in head if k != 'num_classes'}
    cfg.dump(config)
    with pytest.raises(ValueError, match='FCNHead without num_classes'):
        load_stock(config, checkpoint)
    # Whose package need not be there.
    cfg.model.decode_head = dict(head, type='MaskFormerHead')
    cfg.dump(config)
    with pytest.raises(ValueError, match='^MaskFormerHead has no classifier'):
        load_stock(config, checkpoint)
    cfg.model.type = 'CascadeEncoderDecoder'
    cfg.dump(config)
    with pytest.raises(ValueError, match="is 'CascadeEncoderDecoder', but cl"):
        load_stock(config, checkpoint)


def test_weights_of_another_network_are_refused(tmp_path):
    stock = load_stock(*write_stock(tmp_path))
    stock.state.pop('decode_head.conv_seg.bias')
    with pytest.raises(ValueError, match='another network .*1 are missing'):
        stock.build()


def test_checkpoint_of_a_stranger_is_not_executed(tmp_path):
    config, checkpoint = write_stock(tmp_path)
    mark = tmp_path / 'mark'
    torch.save(
        dict(state_dict={}, meta=Call(os.system, touch(mark))), checkpoint
    )
    with pytest.raises(Exception, match=os.path.basename(checkpoint)):
        load_stock(config, checkpoint)
    assert not mark.exists()


def test_export(tmp_path):
    """Heads and losses fit the new classes; the rest is as it was."""
    stock = load_stock(*write_stock(tmp_path, auxiliary=True))
    head = stock.cfg.model.decode_head
    head.loss_decode.class_weight = [1.0, 2.0, 3.0]
    head.out_channels = 3
    before = copy.deepcopy(stock.cfg)
    meta = dict(classes=[*CLASSES, 'car'], palette=list(COLORS))
    checkpoint = str(tmp_path / 'stock.pth')
    paths = export_stock(stock, checkpoint, str(tmp_path / 'export'), meta)
    assert stock.cfg.to_dict() == before.to_dict()
    cfg = Config.fromfile(paths[0])
    assert [h.num_classes for h in decode_heads(cfg.model)] == [4, 4]
    assert cfg.model.decode_head.out_channels == 4
    assert 'class_weight' not in cfg.model.decode_head.loss_decode
    assert cfg.val_dataloader == before.val_dataloader
    content = torch.load(paths[1], weights_only=True)
    assert content['meta']['dataset_meta']['classes'] == (*CLASSES, 'car')
    assert_equal_weights(content['state_dict'], weights(checkpoint))


@pytest.mark.parametrize(
    'names, part', [('ab', {"a': f(), 'b": 1}), ([3, 'b'], 0)]
)
def test_classes_and_colors_of_another_kind(names, part):
    """They would be code in the configs that are written."""
    cfg = Config(dict(model=dict(decode_head=dict(num_classes=2))))
    meta = dict(classes=list(names), palette=[[part, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match='x.pth names classes or colors of'):
        _names(cfg, meta, 'x.pth')
    good = dict(classes=['a', 'b'], palette=[[1, 0, 0], [0, 0, 0]])
    assert _names(cfg, good, 'x.pth') == (['a', 'b'], good['palette'])
