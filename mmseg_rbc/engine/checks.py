"""Everything that is checked before the first iteration of a run."""

from __future__ import annotations

import os.path as osp
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from mmengine.config import Config
from mmengine.dist import get_world_size
from torch import Tensor

from .preflight import check_steps
from .survey import Survey, survey_steps
from .trial import try_step

# Weights are written once as final.pth, and with what an optimizer keeps
# beside them in the last checkpoint.
FINAL_PARTS, CHECKPOINT_PARTS = 1, 2


@dataclass
class Checked:
    """What the checks found.

    Attributes:
        weights: Of a fresh network of step 0, for their names and shapes.
        surveys: The images of every step.
    """

    weights: Mapping[str, Tensor]
    surveys: list[Survey]


def check_run(
    configs: Sequence[Config], work_dir: str, to_train: Collection[int]
) -> Checked:
    """Raise for what would stop any step of a run, in seconds.

    Parts of all steps are built, their data is looked at, and the first two
    steps are tried with two images if they will be trained; later ones only
    differ by their number of classes.

    Args:
        configs: The complete config of every step.
        work_dir: Folder of all steps.
        to_train: The steps that will be trained.
    """
    networks = check_steps(configs)
    weights = {k: v.clone() for k, v in networks[0].state_dict().items()}
    check_disk(work_dir, weights, len(to_train))
    if 0 in to_train:
        check_pretrained(configs[0])
    ended = set(range(len(configs))) - set(to_train)
    surveys = survey_steps(configs, get_world_size(), ended)
    previous = None
    for step, network in enumerate(networks):
        if step in to_train:
            try_step(configs[step], network, previous)
        previous = weights
    return Checked(weights, surveys)


def check_pretrained(cfg: Config) -> None:
    """Raise if the weights that step 0 begins with are not there.

    Args:
        cfg: The complete config of step 0.
    """
    inits = cfg.model.backbone.get('init_cfg') or []
    for init in inits if isinstance(inits, (list, tuple)) else [inits]:
        path = osp.expanduser(init.get('checkpoint') or '')
        if path and '://' not in path and not osp.isfile(path):
            raise FileNotFoundError(
                f'model.backbone.init_cfg.checkpoint is {path}, which does '
                'not exist: give a file or an address, or set '
                'model.backbone.init_cfg=None to begin without'
            )


def check_disk(
    work_dir: str, weights: Mapping[str, Tensor], num_steps: int
) -> None:
    """Raise if the checkpoints of a run find no room.

    Args:
        work_dir: Folder of all steps, which need not exist.
        weights: Of the network of step 0; later ones are hardly larger.
        num_steps: Steps that will be trained.
    """
    place = osp.abspath(work_dir)
    while not osp.isdir(place):
        place = osp.dirname(place)
    size = sum(w.numel() * w.element_size() for w in weights.values())
    needed = num_steps and size * (num_steps * FINAL_PARTS + CHECKPOINT_PARTS)
    free = shutil.disk_usage(place).free
    if free < needed:
        raise ValueError(
            f'the disk of {place} has {free / 1e9:.2f} GB left, but the '
            f'checkpoints of {num_steps} steps need at least '
            f'{needed / 1e9:.2f} GB: free some space, or pass another '
            '--work-dir'
        )
