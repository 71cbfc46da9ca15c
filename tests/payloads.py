"""Files that run something when they are read carelessly."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config

from mmseg_rbc.utils.literals import parse_literals


class Call:
    """An object that is a call when it is unpickled."""

    def __init__(self, function: Callable, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> tuple:
        return self.call


def touch(mark: Path) -> str:
    """Return a shell command that leaves a mark."""
    return f'touch {mark}'


def system(mark: Path) -> Call:
    """Return an object that leaves a mark when it is unpickled."""
    return Call(os.system, touch(mark))


def code(mark: Path) -> str:
    """Return a Python statement that leaves a mark."""
    return f'__import__("os").system({touch(mark)!r})'


def write_pickle(path: Path, mark: Path) -> Path:
    """Write a plain pickle that leaves a mark."""
    path.write_bytes(pickle.dumps([system(mark)]))
    return path


def poison(path: Path, mark: Path) -> Path:
    """Put a call into a checkpoint that is fine otherwise."""
    content = torch.load(path, weights_only=True)
    content['extra'] = system(mark)
    torch.save(content, path)
    return path


def edit_config(path: Path, change: Callable[[Config], object]) -> Path:
    """Change the config in a checkpoint, which stays safe to unpickle."""
    content = torch.load(path, weights_only=True)
    cfg = Config(parse_literals(content['meta']['cfg']))
    change(cfg)
    content['meta']['cfg'] = cfg.pretty_text
    torch.save(content, path)
    return path


def system_config(mark: Path) -> dict[str, str]:
    """Return the config of a part that leaves a mark when it is built."""
    return dict(type='os.system', command=touch(mark))
