"""Parts of a network that later steps do not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_map_only

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


def share_frozen(
    student: nn.Module, teacher: nn.Module, parts: Sequence[str]
) -> None:
    """Let frozen parts run once: the teacher takes what the student has.

    A part whose input is that of the student has its output as well. With any
    other input, as behind a part that learns, it runs.

    Args:
        student: The network that runs first.
        teacher: That of the previous step, with norms of its own: merged
            ones round otherwise, and nothing behind them would be equal.
        parts: What is frozen.
    """
    own = dict(teacher.named_modules())
    for name, module in _wholes(student, parts):
        # An auxiliary head has none.
        if name in own:
            module.register_forward_hook(_keep_call, with_kwargs=True)
            run = own[name].forward
            own[name].forward = partial(_known_or_run, module, run)


def _wholes(
    network: nn.Module, parts: Sequence[str]
) -> Iterator[tuple[str, nn.Module]]:
    """Yield the outermost frozen modules that are called."""
    found: list[str] = []
    for name, module in network.named_modules():
        is_called = not isinstance(module, (nn.ModuleList, nn.ModuleDict))
        is_outermost = is_inside(name, parts) and not is_inside(name, found)
        if is_outermost and is_called:
            found.append(name)
            yield name, module


def _keep_call(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
    """Remember a call in training for the teacher."""
    if torch.is_grad_enabled():
        output = tree_map_only(Tensor, Tensor.detach, output)
        call = (args, kwargs), output, _versions(output)
        vars(module)['last_call'] = call


def _known_or_run(
    student: nn.Module, run: Any, *args: Any, **kwargs: Any
) -> Any:
    """Return what the student returned for these, or run."""
    call = vars(student).pop('last_call', None)
    if call is not None:
        inputs, output, versions = call
        # What comes behind may have changed it in place.
        if versions == _versions(output) and _equal(inputs, (args, kwargs)):
            return output
    return run(*args, **kwargs)


def _versions(output: Any) -> list[int]:
    values, _ = tree_flatten(output)
    return [value._version for value in values if isinstance(value, Tensor)]


def _equal(first: Any, second: Any) -> bool:
    (a, form), (b, other_form) = tree_flatten(first), tree_flatten(second)
    return form == other_form and all(map(_is_same, a, b))


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        # Mostly the same memory: then nothing is read from the device.
        is_one = a.data_ptr() == b.data_ptr() and a.stride() == b.stride()
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return is_one or torch.equal(a, b)
    return type(a) is type(b) and a == b
