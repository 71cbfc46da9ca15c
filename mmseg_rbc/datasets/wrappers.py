"""Reach the data sets inside wrappers such as ``ConcatDataset``."""

from __future__ import annotations

from collections.abc import Iterator

from mmengine.config import ConfigDict


def base_datasets(dataset: ConfigDict | None) -> Iterator[ConfigDict]:
    """Yield the configs of the data sets inside a config."""
    if not dataset:
        return
    if not isinstance(dataset, dict):
        raise ValueError(f'{dataset!r} is no data set: expected a dict')
    inner = dataset.get('datasets') or [dataset.get('dataset')]
    if inner == [None]:
        yield dataset
        return
    for part in inner:
        yield from base_datasets(part)
