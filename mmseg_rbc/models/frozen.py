"""Parts of a network that later steps do not change."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from mmseg_rbc.models.classifier import is_classifier
from mmseg_rbc.utils.keys import nearest

BATCH_NORMS = (
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
    nn.SyncBatchNorm,
)


def is_inside(name: str, parts: Sequence[str]) -> bool:
    """Whether a module or weight is one of some parts, or inside of one.

    Args:
        name: Such as ``backbone.layer1.0.conv1.weight``.
        parts: Names or beginnings of names, such as ``backbone.layer1``.
    """
    return any(name == part or name.startswith(f'{part}.') for part in parts)


def freeze(network: nn.Module, parts: Sequence[str]) -> None:
    """Let weights have no gradient: no optimizer and no DDP moves them.

    Args:
        network: The network, changed in place.
        parts: See :func:`is_inside`.
    """
    names = [name for name, _ in network.named_parameters()]
    modules = [name for name, _ in network.named_modules() if name]
    for part in parts:
        if not any(is_inside(name, [part]) for name in names):
            raise ValueError(
                f'frozen has {part!r}, but the network has no weights of '
                f'that name{nearest(part, modules)}'
            )
    for name, parameter in network.named_parameters():
        if is_inside(name, parts):
            if is_classifier(name):
                raise ValueError(
                    f'frozen={list(parts)} holds the classifier {name}, whose '
                    'new rows must learn: leave it out; method.fusion fixes '
                    'the old rows'
                )
            parameter.requires_grad_(False)


def eval_frozen(network: nn.Module, parts: Sequence[str], norms: bool) -> None:
    """Put frozen parts into eval mode.

    Args:
        network: A network in training mode, changed in place.
        parts: What is frozen.
        norms: Whether all batch norms are.
    """
    for name, module in network.named_modules():
        if is_inside(name, parts) or (
            norms and isinstance(module, BATCH_NORMS)
        ):
            module.eval()
