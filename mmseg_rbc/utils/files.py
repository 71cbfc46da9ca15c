"""Files that are whole or absent."""

from __future__ import annotations

import codecs
import json
import os
import os.path as osp
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import escape, glob
from typing import Any

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Write a file atomically, so that a reader sees all of it or nothing.

    Yields:
        The path to write to. It takes the place of ``path`` at the end, and
        is removed after an error. An error of the disk names ``path``.
    """
    os.makedirs(osp.dirname(osp.abspath(path)), exist_ok=True)
    part = f'{path}.{os.getpid()}.part'
    try:
        yield part
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            os.remove(part)
        if isinstance(error, OSError) and error.errno:
            # What fails to write, unlike what fails to open, has no name.
            error.filename = path
        raise


def remove_parts(folder: str, name: str = '') -> None:
    """Remove what a killed run was writing into a folder.

    Args:
        folder: The folder.
        name: Of the file that it was writing; any by default.
    """
    for path in glob(osp.join(escape(folder), f'{escape(name)}*.part')):
        with suppress(OSError):
            os.remove(path)


def write_json(path: str, content: Any) -> None:
    """Write an object as JSON, atomically; NaN, which it lacks, is null."""
    write_text(path, json.dumps(without_nan(content), indent=2))


def without_nan(content: Any) -> Any:
    """Replace NaN by None, at any depth."""
    if isinstance(content, dict):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [without_nan(value) for value in content]
    return None if content != content else content


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
    """Raise if an image list is missing, damaged, or names an image twice."""
    if not osp.exists(path):
        folder = osp.dirname(path)
        found = sorted(os.listdir(folder)) if osp.isdir(folder) else []
        raise FileNotFoundError(
            f'image list {path} does not exist (its folder holds '
            f'{", ".join(found) or "nothing"}): set data_root and ann_file'
        )
    with open(path, 'rb') as file:
        content = file.read()
    if content.startswith((codecs.BOM_UTF8, *UTF_16)):
        raise ValueError(
            f'image list {path} begins with a byte-order mark: save it as '
            'plain text in UTF-8 without one'
        )
    try:
        names = content.decode().split('\n')
    except UnicodeDecodeError as error:
        raise ValueError(
            f'image list {path} is no text in UTF-8 ({error}): save it as one'
        ) from None
    _check_once([name.strip() for name in names if name.strip()], path)


def _check_once(names: Sequence[str], path: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f'image list {path} names {twice[0]!r} more than once, and '
            f'{len(twice) - 1} more images: keep each of them once'
        )
