"""What depends on the machine: process groups, devices, the screen."""

from __future__ import annotations

import copy
import gc
import inspect
import logging
import os
import os.path as osp
import socket
import subprocess
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

# Before a group is started: its functions take the group of the moment they
# are imported as a default, and would keep it alive (DDP imports them).
import torch.distributed.nn
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.dist import (
    all_gather_object,
    barrier,
    broadcast_object_list,
    get_world_size,
    init_dist,
    is_distributed,
    is_main_process,
)
from mmengine.logging import MMLogger
from mmengine.registry import RUNNERS
from mmengine.runner import BaseLoop, Runner
from mmengine.utils.dl_utils import set_multi_processing
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from mmseg_rbc.datasets import share_batch
from mmseg_rbc.utils.cpu import keep_freed_memory
from mmseg_rbc.utils.files import replacing
from mmseg_rbc.utils.weights import network_of

# Where the processes of a Slurm job meet; Linux gives away higher ones.
FIRST_PORT, NUM_PORTS = 20000, 10000


@contextmanager
def processes(
    launcher: str, local_rank: int, env_cfg: Mapping[str, Any]
) -> Iterator[None]:
    """Start the process group, and end it, also after an error.

    The Runner would start it too, but the first step is shared out before
    there is a Runner, and it never ends it: threads of gloo that outlive the
    interpreter abort the process at its exit. They end with the last reference
    to the group, which the Runner's model has.

    Args:
        launcher: ``none``, ``pytorch``, ``slurm`` or ``mpi``.
        local_rank: What older launchers pass instead of ``LOCAL_RANK``.
        env_cfg: Of the config, with ``mp_cfg`` and ``dist_cfg``.
    """
    os.environ.setdefault('LOCAL_RANK', str(local_rank))
    if not _has_accelerator():
        keep_freed_memory()
    if launcher != 'none' and not is_distributed():
        _start_processes(launcher, env_cfg)
    try:
        yield
    finally:
        if is_distributed():
            torch.distributed.destroy_process_group()
            # A Runner and its hooks refer to each other.
            gc.collect()


def _start_processes(launcher: str, env_cfg: Mapping[str, Any]) -> None:
    """Start NCCL as MMEngine does, or gloo where it would ask for CUDA."""
    if launcher == 'slurm':
        _read_slurm()
    if _has_accelerator():
        set_multi_processing(**env_cfg.get('mp_cfg', {}), distributed=True)
        init_dist(launcher, **env_cfg.get('dist_cfg', {}))
        return
    if 'MASTER_ADDR' not in os.environ:
        raise ValueError(
            f'--launcher {launcher} found no MASTER_ADDR, which processes '
            'without an accelerator need: use tools/dist_train.sh, '
            'tools/dist_test.sh or tools/slurm_train.sh'
        )
    torch.distributed.init_process_group('gloo')


def _read_slurm() -> None:
    """Set for a task of Slurm what torchrun sets; a given address stays.

    Two jobs on one machine need two ports: so the job chooses it.
    """
    env = os.environ
    if 'SLURM_PROCID' not in env:
        raise ValueError(
            '--launcher slurm found no SLURM_PROCID, expected to be started '
            'by srun: use tools/slurm_train.sh, or another launcher'
        )
    env['RANK'], env['LOCAL_RANK'] = env['SLURM_PROCID'], env['SLURM_LOCALID']
    env['WORLD_SIZE'] = env['SLURM_NTASKS']
    port = FIRST_PORT + int(env['SLURM_JOB_ID']) % NUM_PORTS
    env.setdefault('MASTER_PORT', str(port))
    if 'MASTER_ADDR' not in env:
        nodes = env.get('SLURM_STEP_NODELIST') or env['SLURM_NODELIST']
        command = ['scontrol', 'show', 'hostnames', nodes]
        names = subprocess.check_output(command, text=True)
        env['MASTER_ADDR'] = names.split()[0]


def check_shared_folder(path: str) -> None:
    """Raise unless all processes see what the first one writes into a folder.

    The others read the networks of earlier steps from it.

    Args:
        path: The work dir; it is made if it is not there.
    """
    if get_world_size() == 1:
        return
    # A run that is killed here is cleaned up as one that writes.
    token = [f'{uuid.uuid4().hex}.part']
    broadcast_object_list(token)
    file = osp.join(path, token[0])
    if is_main_process():
        os.makedirs(path, exist_ok=True)
        with open(file, 'w'):
            pass
    barrier()
    seen = all_gather_object((osp.isfile(file), socket.gethostname()))
    if is_main_process():
        os.remove(file)
    blind = [i for i, (sees, _) in enumerate(seen) if not sees]
    if blind:
        raise ValueError(
            f'process {blind[0]} on {seen[blind[0]][1]} does not see '
            f'{osp.abspath(path)}, which process 0 on {seen[0][1]} writes '
            'into: give a --work-dir on a disk that all machines share'
        )


def _has_accelerator() -> bool:
    return get_device() != 'cpu'


def build_runner(cfg: Config) -> Runner:
    """Build the Runner of a complete config on this machine."""
    cfg = copy.deepcopy(cfg)
    if cfg.get('launcher', 'none') != 'none' and not _has_accelerator():
        # torch 2.13 has a new name for it and warns of the old one.
        names = inspect.signature(DistributedDataParallel).parameters
        name = 'forward_sync_buffers'
        name = name if name in names else 'broadcast_buffers'
        warnings.filterwarnings('ignore', 'find_unused_parameters=True was')
        cfg.model_wrapper_cfg = {
            'type': 'MMDistributedDataParallel',
            name: False,
            # MMEngine's default names a GPU.
            'device_ids': None,
            # Otherwise DDP sorts the gradients anew in the second iteration,
            # and with more than two processes the order in which they are
            # added depends on it: a resumed run would end otherwise.
            'find_unused_parameters': True,
        }
    cfg.train_dataloader = with_loader_defaults(cfg.train_dataloader)
    if 'runner_type' in cfg:
        cfg.train_dataloader = share_batch(cfg.train_dataloader)
        return RUNNERS.build(cfg)
    return BriefRunner.from_cfg(cfg)


def with_loader_defaults(loader: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a data loader that does not hold up training.

    Its workers stay from epoch to epoch, and their batches lie in memory
    that an accelerator reads directly; what the config says wins. Two batches
    a worker are made ahead, which is torch's default.
    """
    defaults = dict(
        persistent_workers=loader.get('num_workers', 0) > 0,
        pin_memory=_has_accelerator(),
    )
    return {**defaults, **loader}


def close_runner(runner: Runner) -> None:
    """Let go of the workers, files and instances of a Runner.

    A Runner and its hooks refer to each other: its loaders would only be
    found by the garbage collector, which is too late to tell their workers to
    stop. They would wait for seconds. Its logger, message hub and visualizer
    are kept by name for ever, with an open file.
    """
    # The properties without underscores build what was not used.
    for loop in (runner._train_loop, runner._val_loop):
        if isinstance(loop, BaseLoop):
            loop.dataloader = None
            # Of a loop that counts iterations.
            loop.dataloader_iterator = None
    runner.visualizer.close()
    for handler in list(runner.logger.handlers):
        if isinstance(handler, logging.FileHandler):
            runner.logger.removeHandler(handler)
            handler.close()
    for one in (runner.logger, runner.message_hub, runner.visualizer):
        # A class and the one it is derived from may both keep it.
        for kind in type(one).__mro__:
            vars(kind).get('_instance_dict', {}).pop(one.instance_name, None)


class BriefRunner(Runner):
    """A Runner whose screen shows the training, and whose file all.

    At its start a Runner dumps environment, config and hooks, hundreds of
    lines a step: they are only in the log file. Its checkpoints are whole or
    absent.
    """

    @staticmethod
    def build_dataloader(
        dataloader: Any, *args: Any, **kwargs: Any
    ) -> DataLoader:
        """Build a data loader with the share of this process in a batch."""
        own = share_batch(dataloader)
        return Runner.build_dataloader(own, *args, **kwargs)

    def build_optim_wrapper(self, *args: Any) -> Any:
        """Build the optimizer, without the weights of frozen parts."""
        built = super().build_optim_wrapper(*args)
        if getattr(network_of(self), 'frozen', ()):
            for group in built.optimizer.param_groups:
                group['params'] = [
                    p for p in group['params'] if p.requires_grad
                ]
        return built

    def _maybe_compile(self, target: str) -> None:
        """Compile the networks if the config says so (``compile=True``).

        Losses run as they are: they loop over images, and their shapes depend
        on the step.
        """
        if self.cfg.get('compile'):
            model = network_of(self)
            for name in ('refine', '_criterion_losses'):
                eager = torch.compiler.disable(getattr(model, name))
                setattr(model, name, eager)
            for loss in model.losses.values():
                loss.forward = torch.compiler.disable(loss.forward)
        super()._maybe_compile(target)

    def build_logger(self, *args: Any, **kwargs: Any) -> MMLogger:
        """Build the logger, and keep dumps away from the screen."""
        logger = super().build_logger(*args, **kwargs)
        for handler in logger.handlers:
            if not isinstance(handler, logging.FileHandler):
                handler.addFilter(_is_no_dump)
        return logger

    def save_checkpoint(
        self, out_dir: str, filename: str, *args: Any, **kwargs: Any
    ) -> None:
        """Save a checkpoint, atomically if it is on this machine."""
        if not (is_main_process() and osp.isdir(out_dir)):
            super().save_checkpoint(out_dir, filename, *args, **kwargs)
            return
        with replacing(osp.join(out_dir, filename)) as part:
            name = osp.basename(part)
            super().save_checkpoint(out_dir, name, *args, **kwargs)


def _is_no_dump(record: logging.LogRecord) -> bool:
    return record.module != 'runner' or '\n' not in record.getMessage()
