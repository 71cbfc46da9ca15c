"""A network of stock MMSeg: read one, and write one that has grown."""

from __future__ import annotations

import copy
import os
import os.path as osp
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.apis import init_model
from mmseg.models import EncoderDecoder
from mmseg.registry import DATASETS, MODELS
from torch import Tensor

from mmseg_rbc.datasets.classes import make_palette
from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.models.heads import check_head_class
from mmseg_rbc.utils.checkpoint import load_checkpoint, save_checkpoint
from mmseg_rbc.utils.files import write_text
from mmseg_rbc.utils.keys import find_class
from mmseg_rbc.utils.weights import check_weights

from .config_parts import load_config
from .runner_keys import PHASES


@dataclass
class StockNetwork:
    """A trained network of MMSeg.

    Attributes:
        cfg: Its config.
        state: Its weights.
        classes: Names in network order.
        palette: Their colors.
    """

    cfg: Config
    state: dict[str, Tensor]
    classes: list[str]
    palette: list[list[int]]

    @property
    def has_background(self) -> bool:
        """Whether class 0 is background."""
        return self.classes[0].lower() == 'background'

    def build(self, device: str = 'cpu') -> EncoderDecoder:
        """Return the network in eval mode, as MMSeg's ``init_model`` does."""
        model = init_model(copy.deepcopy(self.cfg), device=device)
        check_weights(self.state, model.state_dict(), 'the stock checkpoint')
        model.load_state_dict(self.state)
        model.dataset_meta = self.metainfo
        return model

    @property
    def metainfo(self) -> dict[str, Any]:
        """Classes and palette, as MMSeg has them."""
        return dict(classes=tuple(self.classes), palette=self.palette)

    def grown_metainfo(self, new: Sequence[str]) -> dict[str, Any]:
        """Return classes and palette with new ones, of colors not taken."""
        known = [name for name in new if name in self.classes]
        if known or not new:
            has = f'has class {known[0]!r} already' if known else 'gets none'
            raise ValueError(
                f'the network {has}: it knows {", ".join(self.classes)}; give '
                'other names, as --classes NAME=VALUE'
            )
        num_seen = len(self.classes) + len(new)
        colors = list(self.palette)
        for color in make_palette(2 * num_seen + 1)[1:]:
            if len(colors) < num_seen and color not in colors:
                colors.append(color)
        return dict(classes=[*self.classes, *new], palette=colors)


def load_stock(config: str, checkpoint: str) -> StockNetwork:
    """Read a network that stock MMSeg trained.

    Nothing in the checkpoint is executed; the config is, as by MMSeg.

    Args:
        config: Its config, a file of MMSeg.
        checkpoint: Its weights; the names of the classes are in it, or in
            the data sets of the config.
    """
    cfg = load_config(config, {})
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    kind = (cfg.get('model') or {}).get('type')
    if kind != 'EncoderDecoder':
        raise ValueError(
            f'model.type of {config} is {kind!r}, but classes can be added to '
            'an "EncoderDecoder" only: choose a config of such a network'
        )
    for head in decode_heads(cfg.model):
        check_head_class(find_class(head.type, MODELS, 'type of a head'), head)
    content = load_checkpoint(
        checkpoint, advice='expected the checkpoint of a trained network'
    )
    state = content.get('state_dict', content)
    state = {key.removeprefix('module.'): w for key, w in state.items()}
    meta = _metainfo(cfg, content.get('meta') or {})
    return StockNetwork(cfg, state, *_names(cfg, meta, checkpoint))


def _metainfo(cfg: Config, meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return classes and palette of the checkpoint, or of the config."""
    if (meta.get('dataset_meta') or {}).get('classes'):
        return meta['dataset_meta']
    if meta.get('CLASSES'):
        # Before MMSeg 1.0.
        return dict(classes=meta['CLASSES'], palette=meta.get('PALETTE'))
    for phase in PHASES:
        loader = cfg.get(f'{phase}_dataloader') or {}
        for dataset in base_datasets(loader.get('dataset')):
            known = getattr(DATASETS.get(dataset.type), 'METAINFO', {})
            found = {**known, **(dataset.get('metainfo') or {})}
            if found.get('classes'):
                return found
    return {}


def _names(
    cfg: Config, meta: Mapping[str, Any], checkpoint: str
) -> tuple[list[str], list[list[int]]]:
    """Return names and colors of the classes, one for each output."""
    head = decode_heads(cfg.model)[0]
    if 'num_classes' not in head:
        raise ValueError(
            f'the stock config has a {head.type} without num_classes, '
            'expected a head that classifies through cls_seg, such as '
            'ASPPHead: classes cannot be added to this network'
        )
    classes = list(meta.get('classes') or ())
    if len(classes) != head.num_classes or head.num_classes < 2:
        raise ValueError(
            f'{checkpoint} names {len(classes)} classes, but the network has '
            f'{head.num_classes}: expected the same number, at least two; set '
            'metainfo=dict(classes=[...]) of the data sets in its config'
        )
    palette = meta.get('palette')
    # They go into configs, and come from a checkpoint.
    colors = [] if palette is None else [tuple(color) for color in palette]
    parts = [part for color in colors for part in color]
    if not all(isinstance(name, str) for name in classes) or not all(
        isinstance(part, Integral) for part in parts
    ):
        raise ValueError(
            f'{checkpoint} names classes or colors of another kind: expected '
            'text, and whole numbers'
        )
    if len(colors) != len(classes):
        return classes, make_palette(len(classes))
    return classes, [[int(part) for part in color] for color in colors]


def decode_heads(model: Any) -> list[Any]:
    """Return the configs of decode head and auxiliary heads."""
    heads: list[Any] = []
    for key in ('decode_head', 'auxiliary_head'):
        head = model.get(key) or []
        heads += head if isinstance(head, (list, tuple)) else [head]
    return heads


def export_stock(
    stock: StockNetwork,
    checkpoint: str,
    folder: str,
    metainfo: Mapping[str, Any],
) -> tuple[str, str]:
    """Write a grown network for stock MMSeg, which runs without this plugin.

    Args:
        stock: The network before.
        checkpoint: The grown one.
        folder: Where to write ``config.py`` and ``network.pth``.
        metainfo: Its classes and palette.

    Returns:
        The two paths.
    """
    cfg = copy.deepcopy(stock.cfg)
    classes = tuple(metainfo['classes'])
    for head in decode_heads(cfg.model):
        head.num_classes = len(classes)
        if 'out_channels' in head:
            head.out_channels = len(classes)
        losses = head.get('loss_decode') or []
        for loss in losses if isinstance(losses, list) else [losses]:
            # One number a class, of the classes before.
            loss.pop('class_weight', None)
    os.makedirs(folder, exist_ok=True)
    paths = osp.join(folder, 'config.py'), osp.join(folder, 'network.pth')
    write_text(paths[0], cfg.pretty_text)
    colors = [list(color) for color in metainfo['palette']]
    meta = dict(
        cfg=cfg.pretty_text,
        dataset_meta=dict(classes=classes, palette=colors),
    )
    state = load_checkpoint(checkpoint)['state_dict']
    save_checkpoint(dict(meta=meta, state_dict=state), paths[1])
    return paths
