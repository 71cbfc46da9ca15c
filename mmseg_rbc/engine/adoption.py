"""Share step 0 between runs."""

from __future__ import annotations

import os.path as osp
from collections.abc import Mapping
from typing import Any

from mmengine.dist import barrier, is_main_process
from torch import Tensor

from mmseg_rbc.runs import StepDir, WorkDir
from mmseg_rbc.utils.checkpoint import (
    check_origin,
    load_checkpoint,
    network_only,
    origin,
    save_checkpoint,
)
from mmseg_rbc.utils.weights import check_weights

from .step_config import RunConfig


def adopt_step_0(
    source: str,
    target: StepDir,
    run: RunConfig,
    network: Mapping[str, Tensor],
    check_only: bool = False,
) -> None:
    """Take the network of step 0 from a checkpoint or another work dir.

    Args:
        source: The checkpoint, or the work dir.
        target: The folder of step 0.
        run: The run that step 0 is for; it must be of the same classes,
            setting and criterion.
        network: Weights of its network in step 0, which must have the same
            names and shapes.
        check_only: Whether to write nothing.
    """
    if osp.isdir(source):
        source = WorkDir(source).step(0).final
    if not osp.isfile(source):
        raise FileNotFoundError(
            f'--init-from: {source} does not exist, expected a checkpoint of '
            'step 0 or a work dir with a finished step 0'
        )
    if is_main_process() and osp.abspath(source) != osp.abspath(target.final):
        content = load_checkpoint(source)
        _check_background(content, source, run.identity(0)['classes'])
        check_origin(content, source, run.identity(0))
        check_weights(content['state_dict'], network, source)
        parts = {target.final: network_only(content)}
        if run.method.get('importance'):
            parts[target.importance] = _read_importance(StepDir.of(source))
        for path, part in parts.items():
            if not check_only:
                save_checkpoint(part, path)
    barrier()


def _check_background(
    content: Mapping[str, Any], source: str, classes: list[str]
) -> None:
    """Raise for a network that has all classes but class 0."""
    if list(origin(content).get('classes') or ()) == classes[1:]:
        raise ValueError(
            f'{source} knows {len(classes) - 1} classes and no background, '
            f'but class 0 of step 0 is {classes[0]!r}: use '
            'tools/add_classes.py, which adds classes to such a network'
        )


def _read_importance(source: StepDir) -> dict:
    if not osp.isfile(source.importance):
        raise FileNotFoundError(
            f'--init-from: {source.importance} does not exist, but this '
            'method needs the importance of the weights in step 0: take it '
            'from a run of the same method, or train step 0'
        )
    return load_checkpoint(source.importance)
