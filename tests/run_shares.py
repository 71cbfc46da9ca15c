"""Compute one batch with several processes; test_shares.py launches it.

Usage: ``run_shares.py DATA_ROOT OUT``. The processes are forks of this one: to
import everything takes far longer than to compute.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from helpers import make_tiny_config
from mmengine.model import MMDistributedDataParallel
from mmengine.registry import init_default_scope
from mmseg.registry import MODELS

from mmseg_rbc.engine import RunConfig
from mmseg_rbc.engine.launch import BriefRunner

OPTIONS = {
    'schedule.base.batch_size': 24,
    # Batch statistics would differ.
    'model.backbone.norm_eval': True,
    'model.decode_head.norm_cfg': None,
}
DUPLETS = {
    'schedule.later.batch_size': 24,
    'recipe.relative_consistency': None,
}
CONSISTENCY = 'method.losses.consistency'
# All losses; with several processes each case is computed by these sizes.
SIZES = (1, 2, 3, 5, 8, 12)
FEW = (1, 5)
# Weights: so that each loss of an untrained network
# is between 0.1 and 50.
CASES = {
    'rbc': {
        **DUPLETS,
        'recipe.relative_pod': 0.001,
        f'{CONSISTENCY}.weight': 1000.0,
    },
    'rbc absolute POD, teacher': {
        **DUPLETS,
        'recipe.relative_pod': None,
        'method.losses.pod.weight': 0.1,
        f'{CONSISTENCY}.pairing': 'teacher',
        f'{CONSISTENCY}.weight': 1000.0,
    },
    'rbc relative consistency': {
        **DUPLETS,
        'recipe.relative_pod': 0.001,
        'recipe.relative_consistency': 10.0,
        'method.full_view_weight': 2.0,
    },
    # Erased views have other numbers of void pixels in each process.
    'rbc-lgkd': {
        **DUPLETS,
        'recipe.relative_pod': 0.001,
        f'{CONSISTENCY}.weight': 1000.0,
    },
    'mib': {},
    'lwf': {},
    'lwf-mc': {'method.losses.kd.weight': 1.0},
    'ilt': {},
}


def sizes_of(case: str) -> tuple[int, ...]:
    """Return the numbers of processes that a case is computed by."""
    return SIZES if case in ('rbc', 'mib', 'ilt') else FEW


def build(data_root: str, out: Path, case: str) -> tuple:
    """Return the loader config of 12 images, and the network of step 1."""
    changes = {**OPTIONS, 'schedule.later.batch_size': 12, **CASES[case]}
    cfg, options = make_tiny_config(data_root, case.split()[0], **changes)
    run, base = RunConfig(cfg, options), str(out / 'base.pth')
    torch.manual_seed(0)
    model = MODELS.build(run.step(0).model)
    model.init_weights()
    torch.save(dict(state_dict=model.state_dict(), meta={}), base)
    step = run.step(1, 'work', base)
    step.model.previous.pop('expected')
    model = MODELS.build(step.model)
    model.init_weights()
    if hasattr(model.pseudo_labeler, 'thresholds'):
        model.pseudo_labeler.thresholds = torch.ones(model.num_old)
    # New rows begin as copies: without noise some losses would be 0.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return step.train_dataloader, model


def compute(loader, model, world_size: int) -> dict:
    """Return losses, images and gradients of the first batch."""
    batch = next(iter(BriefRunner.build_dataloader(loader, seed=0)))
    if world_size > 1:
        model = MMDistributedDataParallel(model, device_ids=None)
    model.train()
    network = model.module if world_size > 1 else model
    data = network.data_preprocessor(batch, training=True)
    losses = model(**data, mode='loss')
    network.parse_losses(losses)[0].backward()
    names = [s.img_path for s in data['data_samples']]
    gradients = {n: p.grad for n, p in network.named_parameters()}
    values = {name: loss.item() for name, loss in losses.items()}
    return dict(losses=values, names=names, gradients=gradients)


def process(rank: int, world_size: int, parts: dict, out: Path) -> None:
    """Run one process of a group, and write what it found."""
    dist.init_process_group(
        'gloo',
        init_method=f'file://{out}/store_{world_size}',
        rank=rank,
        world_size=world_size,
    )
    cases = [case for case in CASES if world_size in sizes_of(case)]
    found = {case: compute(*parts[case], world_size) for case in cases}
    torch.save(found, out / f'{world_size}_{rank}.pth')
    dist.destroy_process_group()


def main(data_root: str, out: str) -> None:
    init_default_scope('mmseg')
    parts = {m: build(data_root, Path(out), m) for m in CASES}
    context = multiprocessing.get_context('fork')
    for world_size in SIZES:
        group = [
            context.Process(
                target=process, args=(rank, world_size, parts, Path(out))
            )
            for rank in range(world_size)
        ]
        for one in group:
            one.start()
        for one in group:
            one.join()
        print(json.dumps([one.exitcode for one in group]))


if __name__ == '__main__':
    main(*sys.argv[1:])
