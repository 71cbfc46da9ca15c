"""What depends on the machine: launchers, process groups, devices."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

import torch
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.dist import init_dist, is_distributed
from mmengine.utils.dl_utils import set_multi_processing


def add_launcher_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of MMSeg's tools that launchers use."""
    parser.add_argument(
        '--launcher',
        choices=['none', 'pytorch', 'slurm', 'mpi'],
        default='none',
        help='job launcher',
    )
    parser.add_argument(
        '--local_rank',
        '--local-rank',
        type=int,
        default=0,
        help='set by the launcher',
    )


def plain_config(cfg: Config, **changes: Any) -> Config:
    """Copy a config that prints itself fast.

    A Runner prints it into every checkpoint, and to format it with yapf each
    time takes longer than a small step.
    """
    return Config(dict(cfg.to_dict(), **changes), format_python_code=False)


def runtime_config(cfg: Config) -> Config:
    """Add what depends on this machine, not on the experiment."""
    cfg = plain_config(cfg)
    if cfg.get('launcher', 'none') != 'none' and not _has_accelerator():
        cfg.model_wrapper_cfg = dict(
            type='MMDistributedDataParallel',
            broadcast_buffers=False,
            # MMEngine's default names a GPU.
            device_ids=None,
        )
    return cfg


def _has_accelerator() -> bool:
    return get_device() != 'cpu'


def init_processes(launcher: str, env_cfg: Mapping[str, Any]) -> None:
    """Start the process group before anything asks for the number of ranks.

    The Runner would start it too, but the first step is shared out before
    there is a Runner. Without an accelerator MMEngine would ask for CUDA, so
    gloo is started here.

    Args:
        launcher: ``none``, ``pytorch``, ``slurm`` or ``mpi``.
        env_cfg: Of the config, with ``mp_cfg`` and ``dist_cfg``.
    """
    if launcher == 'none' or is_distributed():
        return
    if _has_accelerator():
        set_multi_processing(**env_cfg.get('mp_cfg', {}), distributed=True)
        init_dist(launcher, **env_cfg.get('dist_cfg', {}))
        return
    if 'MASTER_ADDR' not in os.environ:
        raise RuntimeError(
            'several processes without an accelerator need torchrun, which '
            'sets MASTER_ADDR: use tools/dist_train.sh or tools/dist_test.sh'
        )
    torch.distributed.init_process_group('gloo')
