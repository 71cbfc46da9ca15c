"""What may change between the two parts of a step that is resumed.

The network, its method, the data and the seed may not: the step would be of
neither config. Other settings may, and what changed is said and recorded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config
from mmengine.logging import print_log

from mmseg_rbc.runs import StepDir
from mmseg_rbc.utils.checkpoint import load_checkpoint
from mmseg_rbc.utils.literals import parse_literals
from mmseg_rbc.utils.safe_loading import UnreadableCheckpointError

from .digests import DIGESTED

# Paths, and what does not change the result.
IGNORED = re.compile(
    r'model\.previous\.(checkpoint|expected.*)|custom_hooks\.\w+\.previous|'
    r'train_dataloader\.(num_workers|persistent_workers|prefetch_factor|'
    r'pin_memory)|train_dataloader\..*data_root|'
    r'train_dataloader\.dataset\..*\.memory'
)
REFUSED = re.compile(
    r'(model|train_dataloader\.dataset|randomness|'
    r'custom_hooks\.(ImportanceHook|FusionHook|MemoryHook))\..*'
)
# The optimizer and the schedulers are loaded as they were.
KEPT = re.compile(
    r'(optim_wrapper\.(optimizer|paramwise_cfg)|param_scheduler)\..*'
)


def find_checkpoint(
    folder: StepDir, cfg: Config
) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the newest checkpoint that is whole, and what changed since.

    A run that is killed while it writes leaves a damaged one.
    """
    for path in folder.checkpoints():
        try:
            content = load_checkpoint(path)
        except UnreadableCheckpointError as error:
            print_log(
                f'{path} is damaged ({error.reason}): going on from the '
                'checkpoint before it',
                'current',
                logging.WARNING,
            )
            continue
        return path, check_resumed(content, path, cfg)
    if folder.had_checkpoint():
        print_log(
            f'{folder.path} holds no checkpoint that is whole, although '
            'last_checkpoint names one: the step begins again',
            'current',
            logging.WARNING,
        )
    return None, []


def check_resumed(
    content: Mapping[str, Any], path: str, cfg: Config
) -> list[dict[str, Any]]:
    """Compare the settings of a checkpoint with those to go on with.

    Args:
        content: The checkpoint.
        path: Its path.
        cfg: The complete config of the step.

    Returns:
        What changed since the step began: ``key``, the values ``begun`` and
        ``ended`` with, and ``asked`` where what the config asks for has no
        effect any more.
    """
    try:
        begun = parse_literals(content['meta']['cfg'])
    except (KeyError, TypeError, ValueError, SyntaxError) as error:
        raise ValueError(
            f'{path} does not say what it was trained with ({error}): run '
            'without --resume to begin the step again'
        ) from None
    needed = ['optimizer']
    if cfg.get('param_scheduler'):
        needed.append('param_schedulers')
    missing = [key for key in needed if key not in content]
    if missing:
        raise ValueError(
            f'{path} holds no {" and no ".join(missing)}, so that the step '
            'would go on in another way: leave out save_optimizer=False and '
            'save_param_scheduler=False of default_hooks.checkpoint, and run '
            'without --resume to begin the step again'
        )
    changes = differences(begun, cfg.to_dict())
    refused = {key: v for key, v in changes.items() if REFUSED.fullmatch(key)}
    if refused:
        raise ValueError(
            f'{path} was trained with other settings: {_list(refused)}. To '
            'resume it, use the config and options that it was begun with; '
            'with others use another --work-dir, or run without --resume'
        )
    known = {entry['key']: entry for entry in begun.get('resumed_with', [])}
    for key, (old, new) in changes.items():
        entry = known.get(key) or dict(key=key, begun=old, ended=old)
        what = 'asked' if KEPT.fullmatch(key) else 'ended'
        known[key] = {**entry, what: new}
    _say(changes)
    return list(known.values())


def _say(changes: Mapping[str, tuple[Any, Any]]) -> None:
    kept = {key: v for key, v in changes.items() if KEPT.fullmatch(key)}
    used = {key: v for key, v in changes.items() if key not in kept}
    texts = []
    if used:
        texts.append(f'the step goes on with other settings: {_list(used)}')
    if kept:
        texts.append(
            'these settings have no effect, because the optimizer and its '
            f'schedule go on as they were: {_list(kept)}'
        )
    for text in texts:
        text += '; finished.json will say so'
        print_log(text, 'current', logging.WARNING)


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Return the settings of two steps that differ: old and new value.

    Those that decide how a step trains are compared; a missing one is None.
    """
    parts = (*DIGESTED, 'randomness')
    before, after = (
        _flat({key: cfg.get(key) for key in parts}) for cfg in (old, new)
    )
    return {
        key: (before.get(key), after.get(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key) and not IGNORED.fullmatch(key)
    }


def _flat(value: Any, where: str = '') -> dict[str, Any]:
    """Return the plain values inside a config by their places."""
    if isinstance(value, (list, tuple)):
        if not any(isinstance(entry, dict) for entry in value):
            return {where: list(value)}
        value = _by_type(value)
    if not isinstance(value, Mapping):
        return {where: value}
    found = {}
    for key, entry in value.items():
        found.update(_flat(entry, f'{where}.{key}' if where else str(key)))
    return found


def _by_type(entries: list | tuple) -> dict[str, Any]:
    """Name the entries of a list, so that a further one moves no other."""
    named: dict[str, Any] = {}
    for entry in entries:
        name = str(entry.get('type') if isinstance(entry, dict) else entry)
        count = sum(key.split('_')[0] == name for key in named)
        named[f'{name}_{count}' if count else name] = entry
    return named


def _list(changes: Mapping[str, tuple[Any, Any]]) -> str:
    some = [
        f'{key} was {old!r}, now {new!r}'
        for key, (old, new) in list(changes.items())[:4]
    ]
    more = f', and {len(changes) - 4} more' if len(changes) > 4 else ''
    return '; '.join(some) + more
