"""Small files that are whole or absent."""

from __future__ import annotations

import os


def write_text(path: str, text: str) -> None:
    """Write a file atomically."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    part = f'{path}.{os.getpid()}.part'
    with open(part, 'w') as file:
        file.write(text)
    os.replace(part, path)
