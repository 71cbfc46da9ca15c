"""Add classes to a trained network of stock MMSeg."""

from __future__ import annotations

import os.path as osp
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.dist import (
    barrier,
    get_world_size,
    is_distributed,
    is_main_process,
)
from mmengine.logging import print_log

from mmseg_rbc.datasets.new_images import NewImages, find_new_images
from mmseg_rbc.engine.added_config import (
    added_config,
    method_parts,
    stock_evaluation,
    stock_optimizer,
)
from mmseg_rbc.engine.config_parts import load_config, merge_options
from mmseg_rbc.engine.preflight import check_steps
from mmseg_rbc.engine.sequence import run_sequence
from mmseg_rbc.engine.step_config import RunConfig
from mmseg_rbc.engine.stock import StockNetwork, export_stock, load_stock
from mmseg_rbc.runs import WorkDir
from mmseg_rbc.tasks import IGNORE_INDEX
from mmseg_rbc.utils.checkpoint import save_checkpoint
from mmseg_rbc.utils.files import write_text
from mmseg_rbc.utils.progress import track

from .inference import predict

# Images that the stock network is asked about the new classes.
NUM_ASKED = 200
# Of the learning rate that the stock network was trained with.
LR_SHARE = 0.25


@dataclass
class AddedClasses:
    """What :func:`add_classes` did, or would do.

    Attributes:
        summary: Classes, images, network, ... as printed.
        work_dir: Folder of the run, with ``step_1`` as any other step.
        results: ``finished.json`` of both steps; none after a dry run.
    """

    summary: str
    work_dir: str
    results: list[dict[str, Any]] = field(default_factory=list)

    @property
    def config(self) -> str:
        """Config of the grown network for stock MMSeg."""
        return osp.join(self.work_dir, 'export', 'config.py')

    @property
    def checkpoint(self) -> str:
        """Checkpoint of the grown network for stock MMSeg."""
        return osp.join(self.work_dir, 'export', 'network.pth')


def add_classes(
    config: str,
    checkpoint: str,
    images: str,
    masks: str,
    classes: Mapping[str, int],
    *,
    unlabeled: Sequence[int] = (0,),
    void: Sequence[int] = (IGNORE_INDEX,),
    method: str = 'rbc',
    val_config: str | None = None,
    val_split: float = 0.1,
    work_dir: str | None = None,
    epochs: int = 30,
    batch_size: int = 8,
    lr: float | None = None,
    seed: int = 0,
    resume: bool = False,
    dry_run: bool = False,
    options: Mapping[str, Any] | None = None,
) -> AddedClasses:
    """Add classes to a network, from images in which only they are labeled.

    No image of the old classes is needed. The result is a run of two steps:
    step 0 is the given network, step 1 the grown one, which is exported for
    stock MMSeg as well. The same call again continues where it was stopped.

    Args:
        config: Config of the network, of stock MMSeg or exported here.
        checkpoint: Its checkpoint.
        images: Folder of new images.
        masks: Folder of their masks, of the same names.
        classes: Value of every new class in the masks, by its name.
        unlabeled: Values of pixels that are none of the new classes.
        void: Values of pixels that are ignored.
        method: ``rbc``, ``plop``, ``mib``, ``ilt``, ``lwf`` or ``ft``.
        val_config: Config whose ``val_dataloader`` has the images to evaluate
            on, with old classes or with all; ``config`` by default.
        val_split: Share of the new images that is held out to evaluate on.
        work_dir: ``work_dirs/<config>+<new classes>`` by default.
        epochs: Of training.
        batch_size: Images of all processes, erased views included.
        lr: Learning rate; a quarter of that in ``config`` by default.
        seed: Of the held-out images and of the training.
        resume: Whether to continue from the last checkpoint.
        dry_run: Whether to check the config and say what would happen, and
            do nothing.
        options: More settings of the config, such as
            ``{'recipe.relative_pod': 0.3}``.
    """
    stock = load_stock(config, checkpoint)
    metainfo = stock.grown_metainfo(list(classes))
    found = find_new_images(images, masks, classes, unlabeled, void)
    split = found.split(val_split, seed)
    folder = WorkDir(work_dir or added_work_dir(config, classes))
    evaluation, said = _evaluation(stock, found, split[1], folder, val_config)
    shares = ask_network(stock, found, split[0])
    schedule = dict(
        lr=lr or LR_SHARE * stock_optimizer(stock.cfg).optimizer.lr,
        epochs=epochs,
        batch_size=batch_size,
    )
    cfg = added_config(
        stock,
        metainfo,
        found.dataset(_lists(folder)[0]),
        evaluation,
        _method(method, shares),
        schedule,
    )
    cfg.merge_from_dict({'randomness.seed': seed, 'work_dir': folder.path})
    cfg.init_from = folder.step(0).final
    merge_options(cfg, options or {})
    if dry_run:
        # What would end the run in its first seconds.
        run = RunConfig(cfg, options)
        check_steps(run.steps(folder.path, get_world_size()))
    summary = _summary(stock, found, split, shares, cfg, said)
    print_log(f'method {method}\n{summary}', 'current')
    result = AddedClasses(summary, folder.path)
    if not dry_run:
        _run(stock, found, split, cfg, result, resume, options)
    return result


def added_work_dir(config: str, classes: Iterable[str]) -> str:
    """Return the folder of a run that adds classes, by default."""
    stem = osp.splitext(osp.basename(config))[0]
    return osp.join('work_dirs', '+'.join([stem, *classes]))


def _run(
    stock: StockNetwork,
    found: NewImages,
    split: tuple[list[int], list[int]],
    cfg: Config,
    result: AddedClasses,
    resume: bool,
    options: Mapping[str, Any] | None,
) -> None:
    """Write the config and the stock network as step 0, train, export."""
    folder = WorkDir(result.work_dir)
    if is_main_process():
        for path, positions in zip(_lists(folder), split):
            names = [found.names[i] for i in positions]
            write_text(path, ''.join(f'{name}\n' for name in names))
        cfg.dump(osp.join(folder.path, 'config.py'))
        if not folder.step(0).is_finished():
            meta = dict(cfg=stock.cfg.pretty_text, dataset_meta=stock.metainfo)
            content = dict(meta=meta, state_dict=stock.state)
            save_checkpoint(content, folder.step(0).final)
    barrier()
    # The group is there already, whatever started it.
    cfg.launcher = 'pytorch' if is_distributed() else 'none'
    result.results = run_sequence(
        cfg,
        folder.path,
        resume=resume,
        init_from=cfg.init_from,
        options=options,
    )
    if is_main_process():
        meta = cfg.continual.metainfo
        final = folder.step(1).final
        export_stock(stock, final, osp.dirname(result.config), meta)
    barrier()


def ask_network(
    stock: StockNetwork, found: NewImages, positions: Sequence[int]
) -> np.ndarray:
    """Ask a network what it takes the new classes for.

    Args:
        stock: The network, with O classes.
        found: Images of N new classes.
        positions: The images to ask about; at most 200 of them are used.

    Returns:
        ``(N, O)``: the share of the pixels of a new class that the network
        gives to an old one.
    """
    model = stock.build(get_device())
    num_old = len(stock.classes)
    counts = np.zeros((len(found.classes), num_old))
    # Spread over all of them.
    steps = np.linspace(0, len(positions) - 1, min(len(positions), NUM_ASKED))
    asked = [positions[int(i)] for i in steps]
    name = 'asking the network about the new classes'
    for i in track(asked, name, len(asked)):
        old, labels = predict(model, found.image(i)), found.labels(i)
        for row, value in zip(counts, found.classes.values()):
            row += np.bincount(old[labels == value], minlength=num_old)
    total = counts.sum(1, keepdims=True)
    # A class that none of these images shows: the mean of all rows.
    return np.where(total > 0, counts / np.maximum(total, 1), 1 / num_old)


def _method(name: str, shares: np.ndarray) -> dict[str, Any]:
    """Return the parts of a method, which knows where new rows come from."""
    parts = method_parts(name)
    if parts.get('classifier_init') == 'balanced':
        weights = [[round(float(s), 6) for s in row] for row in shares]
        parts.update(classifier_init='weighted', row_weights=weights)
    return parts


def _lists(folder: WorkDir) -> tuple[str, str]:
    """Return the lists of new images, to train on and held out."""
    path = osp.abspath(folder.path)
    return osp.join(path, 'new.txt'), osp.join(path, 'held_out.txt')


def _evaluation(
    stock: StockNetwork,
    found: NewImages,
    held_out: Sequence[int],
    folder: WorkDir,
    val_config: str | None,
) -> tuple[list[dict[str, Any]], str]:
    """Return the data sets to evaluate on, and what to say of them."""
    cfg = load_config(val_config, {}) if val_config else stock.cfg
    old, said = stock_evaluation(cfg)
    parts = [old] if old else []
    if held_out:
        parts.append(found.dataset(_lists(folder)[1]))
    if not parts:
        raise ValueError(
            f'there is nothing to evaluate on: {said}, and no new image is '
            'held out; give --val-config or a larger --val-split'
        )
    return parts, said if old else f'not measured: {said}'


def _summary(
    stock: StockNetwork,
    found: NewImages,
    split: tuple[list[int], list[int]],
    shares: np.ndarray,
    cfg: Config,
    said: str,
) -> str:
    """Say what happens: classes, images, network, schedule, memory."""
    model, later = cfg.model, cfg.schedule.later
    size = sum(w.numel() * w.element_size() for w in stock.state.values())
    share = found.pixels / found.pixels.sum(1, keepdims=True)
    background = 'class 0' if stock.has_background else 'none'
    lines = [
        f'network: {model.decode_head.type} on {model.backbone.type}, '
        f'{len(stock.classes)} classes (background: {background}): '
        f'{", ".join(stock.classes)}',
        f'new images: {len(split[0])} to train on, {len(split[1])} held out, '
        f'{len(found.names) - len(split[0]) - len(split[1])} without a new '
        'class, which are not used',
        f'old classes are evaluated on: {said}',
        f'schedule: {later.epochs} epochs, learning rate {later.lr:g}, '
        f'batches of {later.batch_size}',
        f'memory: {4 * size / 2**20:.0f} MiB for weights, gradients, momentum '
        'and the old network, and that of the batch',
    ]
    for (name, value), row in zip(found.classes.items(), shares):
        order = np.argsort(-row)[:3]
        now = [f'{stock.classes[c]} {100 * row[c]:.0f} %' for c in order]
        shown = int((found.pixels[:, value] > 0).sum())
        lines.append(
            f'new class {name!r} (value {value}): in {shown} images, '
            f'{100 * share[:, value].mean():.1f} % of the pixels; for the '
            f'network it is {", ".join(now)}'
        )
    return '\n'.join(lines)
