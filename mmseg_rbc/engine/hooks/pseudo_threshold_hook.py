"""What the teacher finds in the training images before training."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from mmengine.hooks import Hook
from mmengine.registry import HOOKS
from mmengine.runner import Runner
from torch import Tensor

from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.models.attribution import Attribution, add_background, rows
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.utils.progress import track
from mmseg_rbc.utils.weights import network_of

INFO_KEY = 'pseudo_label_thresholds'
CHANNELS_KEY = 'attributed_channels'
# The crops are drawn as in a pass that no training reaches.
PASS = 2**31 - 1


@HOOKS.register_module()
class PseudoThresholdHook(Hook):
    """Show the training images to the pseudo-labeler before it is used.

    The same pass finds the channels of a classifier with attributed new rows.
    All processes get the same thresholds and channels, computed from all
    images. They travel in the message hub of every checkpoint, so a resumed
    run does not compute them again.
    """

    def before_train(self, runner: Runner) -> None:
        """Restore the thresholds, or have them estimated; warm up rows."""
        model = network_of(runner)
        attribution = _attribution(runner, model)
        labeler = getattr(model, 'pseudo_labeler', None)
        if labeler is not None and hasattr(labeler, 'thresholds'):
            self._set_thresholds(runner, model, labeler, attribution)
        elif attribution is not None:
            loader = _whole_loader(runner)
            for images, labels in _full_views(model, loader):
                with torch.no_grad():
                    outputs = run_network(attribution.network, images)
                attribution.update(outputs, labels)
        if attribution is not None:
            channels = attribution.channels()
            add_background(rows(model), channels, model.num_old)
            runner.message_hub.update_info(CHANNELS_KEY, channels)
            model.train()

    def _set_thresholds(
        self,
        runner: Runner,
        model: IncrementalEncoderDecoder,
        labeler: Any,
        attribution: Attribution | None,
    ) -> None:
        known = runner.message_hub.get_info(INFO_KEY)
        if known is None:
            loader = _whole_loader(runner)
            known = labeler.estimate(
                model.teacher,
                lambda: _full_views(model, loader),
                model.num_classes,
                attribution.update if attribution else None,
            ).tolist()
            runner.message_hub.update_info(INFO_KEY, known)
        runner.logger.info(
            'thresholds of the pseudo-labels: '
            + ', '.join(f'{value:.5f}' for value in known)
        )
        device = next(model.parameters()).device
        labeler.thresholds = torch.tensor(known, device=device)


def _attribution(
    runner: Runner, model: IncrementalEncoderDecoder
) -> Attribution | None:
    """Return what gathers the attribution, if new rows wait for it.

    Without a teacher the student, which is not trained yet, is asked.
    """
    initialization = getattr(model, 'initialization', ('random',))
    known = runner.message_hub.get_info(CHANNELS_KEY)
    if initialization[0] != 'attributed' or not model.num_old or known:
        return None
    network = model.eval() if model.teacher is None else model.teacher
    return Attribution(network, model.num_old)


def _full_views(
    model: IncrementalEncoderDecoder, loader: torch.utils.data.DataLoader
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield images ``(N, 3, H, W)`` and labels ``(N, H, W)``, none erased."""
    name = 'the teacher looks at the images, batches'
    # The same crops each time.
    loader.sampler.set_epoch(PASS)  # type: ignore[attr-defined]
    for batch in track(loader, name, len(loader)):
        yield full_views(model.data_preprocessor(batch, training=True))


def full_views(data: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Return images and labels of a preprocessed batch, none erased."""
    labels = [
        sample.gt_sem_seg.data
        for sample in data['data_samples']
        if sample.metainfo.get('view') != 'erased'
    ]
    return data['inputs'][: len(labels)], torch.cat(labels)


def _whole_loader(runner: Runner) -> torch.utils.data.DataLoader:
    """Return a loader that yields every training image once."""
    cfg = copy.deepcopy(runner.cfg.train_dataloader)
    in_order = dict(type='DefaultSampler', shuffle=False, round_up=False)
    # Not replaced by update(), which goes on into dicts.
    for key in ('sampler', 'batch_sampler'):
        cfg.pop(key, None)
    cfg.update(
        dataset=runner.train_dataloader.dataset,
        sampler=dict(type='DrawSampler', sampler=in_order),
        drop_last=False,
        persistent_workers=False,
    )
    return runner.build_dataloader(cfg, seed=runner.seed)
