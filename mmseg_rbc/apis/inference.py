"""From a checkpoint of any step to predictions, without a config."""

from __future__ import annotations

import os.path as osp
from collections.abc import Mapping
from typing import Any

import mmcv
import numpy as np
from mmengine.config import Config
from mmseg.apis import inference_model, init_model
from mmseg.models import EncoderDecoder

from mmseg_rbc.runs import StepDir
from mmseg_rbc.utils.checkpoint import load_checkpoint, state_of
from mmseg_rbc.utils.literals import parse_literals
from mmseg_rbc.utils.weights import check_weights

from .embedded_config import network_parts


def network_config(checkpoint: str) -> Config:
    """Return what a checkpoint says of its network and its data.

    It is read from the checkpoint, or from ``config.py`` beside it, as plain
    literals: no code in it is executed. What is kept, and what is refused, is
    said in :func:`.network_parts`.
    """
    return _embedded_config(load_checkpoint(checkpoint), checkpoint)


def _embedded_config(content: Mapping[str, Any], path: str) -> Config:
    text = content.get('meta', {}).get('cfg') or ''
    beside = StepDir.of(path).config
    if not text and osp.isfile(beside):
        with open(beside) as file:
            text = file.read()
    try:
        parsed = parse_literals(text)
    except (SyntaxError, TypeError, ValueError) as error:
        raise ValueError(
            f'the config in {path} cannot be read ({error}): pass a '
            'checkpoint of tools/train.py'
        ) from error
    if not isinstance(parsed.get('model'), dict):
        raise ValueError(
            f'{path} holds no config, and there is no config.py with a model '
            'beside it: pass a checkpoint of tools/train.py'
        )
    return network_parts(parsed, path)


def load_network(checkpoint: str, device: str = 'cpu') -> EncoderDecoder:
    """Build the network of a checkpoint as a stock segmentor.

    Args:
        checkpoint: Checkpoint of any step.
        device: Such as ``cuda:0``.

    Returns:
        In eval mode, with ``cfg`` and ``dataset_meta`` as MMSeg's
        ``init_model`` leaves them.
    """
    content = load_checkpoint(checkpoint)
    cfg = _embedded_config(content, checkpoint)
    try:
        model = init_model(cfg, device=device)
    except KeyError as error:
        raise ValueError(
            f'the network of {checkpoint} cannot be built ({error}): import '
            'the module that registers its parts first'
        ) from error
    except Exception as error:  # a config can be wrong in any way
        raise ValueError(
            f'the network of {checkpoint} cannot be built '
            f'({type(error).__name__}: {error}): pass a checkpoint of '
            'tools/train.py'
        ) from error
    state = state_of(content, checkpoint)
    check_weights(state, model.state_dict(), checkpoint)
    model.load_state_dict(state)
    model.dataset_meta = content.get('meta', {}).get('dataset_meta')
    return model


def predict(model: EncoderDecoder, image: str | np.ndarray) -> np.ndarray:
    """Return the ``(H, W)`` uint8 labels of an image, in network order.

    Args:
        model: See :func:`load_network`.
        image: Path, or ``(H, W, 3)`` BGR.
    """
    if isinstance(image, str):
        # MMSeg would take no path after the first array.
        image = mmcv.imread(image)
    result = inference_model(model, image)
    return result.pred_sem_seg.data[0].to('cpu').numpy().astype(np.uint8)
