"""Load and save checkpoints: the only place that does."""

from __future__ import annotations

import io
import os.path as osp
import pickle
from collections.abc import Mapping
from typing import Any

import torch

from .files import replacing
from .safe_loading import UnreadableCheckpointError, load_from_local


def load_checkpoint(
    path: str,
    what: str = 'checkpoint',
    advice: str = 'expected a checkpoint such as step_1/final.pth',
) -> dict[str, Any]:
    """Load a checkpoint onto the CPU; nothing in it is executed.

    Args:
        path: A checkpoint file.
        what: What it is, for the message where it is missing.
        advice: What to do then.
    """
    if not osp.isfile(path):
        raise FileNotFoundError(f'{what} {path} does not exist: {advice}')
    try:
        content = load_from_local(path, 'cpu')
    except UnreadableCheckpointError:
        raise
    except (
        EOFError,
        LookupError,
        OSError,
        RuntimeError,
        UnicodeError,
        pickle.UnpicklingError,
    ) as error:
        if isinstance(error, OSError) and error.filename:
            # It could not be opened; torch seeks before the beginning of a
            # file that is too short, which has no name.
            raise
        lines = str(error).splitlines() or ['it ends too early']
        raise _unreadable(path, lines[0]) from error
    if not isinstance(content, dict):
        raise _unreadable(path, f'it holds a {type(content).__name__}')
    for key in ('meta', 'state_dict'):
        if not isinstance(content.get(key, {}), Mapping):
            kind = type(content[key]).__name__
            raise _unreadable(path, f'its {key} is a {kind}')
    return content


def _unreadable(path: str, reason: str) -> UnreadableCheckpointError:
    return UnreadableCheckpointError(
        f'{path} is damaged, or no checkpoint ({reason}): restore it, or pass '
        'another one',
        reason,
    )


def state_of(content: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """Return the weights in a checkpoint; raise if there are none."""
    if 'state_dict' not in content:
        raise _unreadable(path, 'it has no state_dict')
    return content['state_dict']


def save_checkpoint(content: Mapping[str, Any], path: str) -> None:
    """Save a checkpoint atomically."""
    # By way of memory, as MMEngine does it: errors of a disk would be lost in
    # those of torch.
    buffer = io.BytesIO()
    torch.save(dict(content), buffer)
    with replacing(path) as part, open(part, 'wb') as file:
        file.write(buffer.getbuffer())


def network_only(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a network without its training is: meta and weights."""
    return {key: content[key] for key in ('meta', 'state_dict')}


def origin(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint says of its step: task, classes, ..."""
    meta = content.get('meta', {})
    return {**meta, **(meta.get('dataset_meta') or {})}


def check_origin(
    content: Mapping[str, Any],
    path: str,
    expected: Mapping[str, Any],
    role: str = 'this step follows',
) -> None:
    """Raise if a checkpoint is of another step than expected.

    Args:
        content: The checkpoint.
        path: Its path, for the message.
        expected: What it must agree with where it says anything, such as
            ``classes``, ``task`` and ``step``.
        role: Who expects it, for the message.
    """
    found = origin(content)
    for key, value in expected.items():
        if key in found and _plain(found[key]) != _plain(value):
            raise ValueError(
                f'{path} was trained with {key} {_short(found[key])}, but '
                f'{role} {key} {_short(value)}: use the checkpoint of the '
                'same task, order and setting, or another work dir'
            )


def _plain(value: Any) -> Any:
    """Make tuples lists, as configs do."""
    return list(value) if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f'({len(value)} entries: {", ".join(map(str, value))[:200]})'
    return repr(value)
