"""Numbers of the RBC paper (ECCV 2022, tables of VOC), to compare with.

``paper.csv`` holds mIoU of old, new and all classes after the last step.
"""

from __future__ import annotations

import csv
import os.path as osp
from functools import cache
from typing import Any

from mmengine.config import ConfigDict

from mmseg_rbc.datasets.wrappers import base_datasets
from mmseg_rbc.evaluation.continual_metrics import GROUPS
from mmseg_rbc.utils.literals import parse_literals

Numbers = tuple[float, float, float]

TABLE = osp.join(osp.dirname(__file__), 'paper.csv')
# What the paper trained with; a run with anything else is not comparable.
SETUP = dict(
    dataset='ContinualVOCDataset',
    crop_size=(512, 512),
    backbone=('ResNet', 101),
    head='ASPPHead',
)


def paper_numbers(
    method: str, task: str | None, setting: str | None
) -> Numbers | None:
    """Return mIoU old, new and all of the paper, None without a row."""
    return _rows().get((method, task, setting))


@cache
def _rows() -> dict[tuple[str | None, ...], Numbers]:
    """Return the rows of the table by method, task and setting."""
    rows: dict[tuple[str | None, ...], Numbers] = {}
    with open(TABLE, newline='') as file:
        for row in csv.DictReader(file):
            old, new, all_ = (float(row[group]) for group in GROUPS)
            key = (row['method'], row['task'], row['setting'])
            rows[key] = (old, new, all_)
    return rows


def is_papers_setup(config: str) -> bool:
    """Whether a run has the data, crop and network of the paper.

    Args:
        config: Text of the config of a step. Nothing in it is executed; one
            that is damaged or no config of ours is not the paper's.
    """
    try:
        return _setup(config) == SETUP
    except (
        AttributeError,
        LookupError,
        StopIteration,
        SyntaxError,
        TypeError,
        ValueError,
    ):
        return False


def _setup(config: str) -> dict[str, Any]:
    """Return what to compare with :data:`SETUP`."""
    cfg = ConfigDict(parse_literals(config))
    dataset = next(base_datasets(cfg.train_dataloader.dataset))
    crops = [t.crop_size for t in dataset.pipeline if 'crop_size' in t]
    model = cfg.model
    return dict(
        dataset=dataset.type,
        crop_size=tuple(crops[0]),
        backbone=(model.backbone.type, model.backbone.depth),
        head=model.decode_head.type,
    )
