"""The frozen network of the previous step."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from mmcv.cnn import fuse_conv_bn
from mmengine.logging import print_log
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS
from torch import Tensor, nn

from .heads import stock_segmentor
from .outputs import run_network


def build_teacher(
    config: Mapping[str, Any],
    state: Mapping[str, Tensor],
    num_old: int,
    fuse: bool = True,
) -> EncoderDecoder:
    """Build the frozen network of the previous step.

    Args:
        config: ``backbone``, ``neck`` and ``decode_head`` of the student.
        state: Its weights; auxiliary heads are left out.
        num_old: O, its classes.
        fuse: Whether to merge convolutions with the batch norms behind
            them, which changes its outputs by rounding only.

    Returns:
        A stock segmentor in eval mode without gradients.
    """
    config = copy.deepcopy(dict(config, type=stock_segmentor(config)))
    heads = config['decode_head']
    for head in heads if isinstance(heads, list) else [heads]:
        head.update(num_classes=num_old)
    config['backbone'].pop('init_cfg', None)
    teacher = MODELS.build(config)
    own = {k: v for k, v in state.items() if not k.startswith('auxiliary')}
    teacher.load_state_dict(own, strict=True)
    teacher.requires_grad_(False)
    teacher.eval()
    return _fused(teacher) if fuse else teacher


def _fused(teacher: EncoderDecoder) -> EncoderDecoder:
    """Merge batch norms, unless a module runs them in another order."""
    try:
        expected = _probe(teacher)
        fused = fuse_conv_bn(copy.deepcopy(teacher)).eval()
        fused.requires_grad_(False)
        found = _probe(fused)
    except (AssertionError, AttributeError, RuntimeError) as error:
        # A norm that is not behind its convolution, or is read elsewhere; or
        # a network that takes pictures of one size only.
        print_log(f'the teacher is not fused: {error}', 'current')
        return teacher
    if torch.allclose(found, expected, rtol=1e-3, atol=1e-4):
        return fused
    print_log('the teacher is not fused: its output would change', 'current')
    return teacher


def _probe(network: EncoderDecoder) -> Tensor:
    """Return the logits of a picture; any will do."""
    try:
        # Odd, so that paddings of all strides are tried.
        return _logits(network, 65, 97)
    except AssertionError:
        # UNet takes multiples of its stride only.
        return _logits(network, 64, 96)


@torch.no_grad()
def _logits(network: EncoderDecoder, height: int, width: int) -> Tensor:
    picture = torch.linspace(-2, 2, 3 * height * width)
    picture = picture.reshape(1, 3, height, width)
    return run_network(network, picture).small_logits


def hide_module(owner: nn.Module, name: str, module: nn.Module | None) -> None:
    """Store a module where torch does not see it.

    So it is in no ``state_dict``, optimizer, DDP bucket or EMA copy, and
    ``owner.to()`` and ``owner.train()`` pass it by.
    """
    owner.__dict__[name] = module
