"""Files that are whole or absent."""

from __future__ import annotations

import json
import os
import os.path as osp
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Write a file atomically, so that a reader sees all of it or nothing.

    Yields:
        The path to write to. It takes the place of ``path`` at the end, and
        is removed after an error.
    """
    os.makedirs(osp.dirname(osp.abspath(path)), exist_ok=True)
    part = f'{path}.{os.getpid()}.part'
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.remove(part)
        raise


def write_json(path: str, content: Any) -> None:
    """Write an object as JSON, atomically."""
    with replacing(path) as part, open(part, 'w') as file:
        json.dump(content, file, indent=2)


def write_text(path: str, text: str) -> None:
    """Write text, atomically."""
    with replacing(path) as part, open(part, 'w', encoding='utf-8') as file:
        file.write(text)


def missing_files(paths: Sequence[str]) -> list[str]:
    """Return the paths that do not exist, with one listing per folder."""
    parts = [osp.split(path) for path in paths]
    present = {
        folder: set(os.listdir(folder)) if osp.isdir(folder) else set()
        for folder in {folder for folder, _ in parts}
    }
    return [
        path
        for path, (folder, name) in zip(paths, parts)
        if name not in present[folder]
    ]


def check_files(paths: Sequence[str], what: str, listed_in: str) -> None:
    """Raise if a file is missing.

    Args:
        paths: The files.
        what: What they are, for the message.
        listed_in: Where they are named.
    """
    missing = missing_files(paths)
    if missing:
        raise FileNotFoundError(
            f'{what} {missing[0]} does not exist ({len(missing)} of the '
            f'{len(paths)} {what}s of {listed_in} are missing): check the '
            'list and data_prefix'
        )


def check_list(path: str) -> None:
    """Raise if an image list is missing, and name those that are there."""
    if not osp.exists(path):
        folder = osp.dirname(path)
        found = sorted(os.listdir(folder)) if osp.isdir(folder) else []
        raise FileNotFoundError(
            f'image list {path} does not exist (its folder holds '
            f'{", ".join(found) or "nothing"}): set data_root and ann_file'
        )
