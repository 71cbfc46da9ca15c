"""The frozen network of the previous step."""

from __future__ import annotations

import copy
import os.path as osp
from collections.abc import Mapping
from typing import Any

import torch
from mmcv.cnn import fuse_conv_bn
from mmengine.logging import print_log
from mmengine.runner.checkpoint import _load_checkpoint
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS
from torch import Tensor, nn


def load_previous_step(
    checkpoint: str, expected: Mapping[str, Any]
) -> dict[str, Any]:
    """Read the checkpoint of the previous step and check where it is from.

    Args:
        checkpoint: A checkpoint file.
        expected: What its ``meta`` or ``meta['dataset_meta']`` must hold,
            such as ``classes``, ``task`` and ``step``.
    """
    if not osp.isfile(checkpoint):
        raise FileNotFoundError(
            f'the checkpoint of the previous step, {checkpoint}, does not '
            'exist: train that step first, or pass --init-from'
        )
    content = _load_checkpoint(checkpoint, map_location='cpu')
    meta = content.get('meta', {})
    found = {**meta, **(meta.get('dataset_meta') or {})}
    for key, value in expected.items():
        # Configs turn tuples into lists.
        if key in found and _plain(found[key]) != _plain(value):
            raise ValueError(
                f'{checkpoint} was trained with {key} {_short(found[key])}, '
                f'but this step follows {key} {_short(value)}: use the '
                'checkpoint of the same task, order and setting, or another '
                'work dir'
            )
    return content


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f'({len(value)} entries: {", ".join(map(str, value))[:200]})'
    return repr(value)


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
    config = copy.deepcopy(dict(config, type='EncoderDecoder'))
    config['decode_head'].update(num_classes=num_old)
    config['backbone'].pop('init_cfg', None)
    teacher = MODELS.build(config)
    own = {k: v for k, v in state.items() if not k.startswith('auxiliary')}
    teacher.load_state_dict(own, strict=True)
    teacher.requires_grad_(False)
    teacher.eval()
    return _fused(teacher) if fuse else teacher


def _fused(teacher: EncoderDecoder) -> EncoderDecoder:
    """Merge batch norms, unless a module runs them in another order."""
    fused = fuse_conv_bn(copy.deepcopy(teacher)).eval()
    fused.requires_grad_(False)
    # Any picture will do; 65 is odd, so it also meets all paddings.
    picture = torch.linspace(-2, 2, 3 * 65 * 97).reshape(1, 3, 65, 97)
    with torch.no_grad():
        try:
            expected, found = (
                teacher._forward(picture),
                fused._forward(picture),
            )
        except RuntimeError as error:
            print_log(f'the teacher is not fused: {error}', 'current')
            return teacher
    if torch.allclose(found, expected, rtol=1e-3, atol=1e-4):
        return fused
    print_log('the teacher is not fused: its output would change', 'current')
    return teacher


def hide_module(owner: nn.Module, name: str, module: nn.Module | None) -> None:
    """Store a module where torch does not see it.

    So it is in no ``state_dict``, optimiser, DDP bucket or EMA copy, and
    ``owner.to()`` and ``owner.train()`` pass it by.
    """
    owner.__dict__[name] = module
