"""Estimate the thresholds of pseudo-labels before training."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator

import torch
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.registry import HOOKS
from mmengine.runner import Runner

from mmseg_rbc.datasets import seed_datasets
from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.models.pseudo_labelers import (
    MedianThresholds,
    ReleasedThresholds,
    normalised_entropy,
)

INFO_KEY = 'pseudo_label_thresholds'
# The crops of this pass are drawn as in an epoch that is never reached.
EPOCH = 2**31 - 1
LOG_SECONDS = 10.0


@HOOKS.register_module()
class PseudoThresholdHook(Hook):
    """Run the teacher over the training images and set the thresholds.

    All processes get the same thresholds, computed from all images. They
    travel in the message hub of every checkpoint, so a resumed run does not
    compute them again.
    """

    def before_train(self, runner: Runner) -> None:
        """Restore the thresholds, or estimate them."""
        model = runner.model
        model = model.module if is_model_wrapper(model) else model
        labeler = getattr(model, 'pseudo_labeler', None)
        if labeler is None or not hasattr(labeler, 'thresholds'):
            return
        device = next(model.parameters()).device
        known = runner.message_hub.runtime_info.get(INFO_KEY)
        if known is None:
            estimator = labeler.make_estimator(
                model.teacher.num_classes, device
            )
            self._estimate(runner, model, estimator)
            known = estimator.thresholds().tolist()
            runner.message_hub.update_info(INFO_KEY, known)
        runner.logger.info(
            'thresholds of the pseudo-labels: '
            + ', '.join(f'{value:.5f}' for value in known)
        )
        labeler.thresholds = torch.tensor(known, device=device)

    @torch.no_grad()
    def _estimate(
        self,
        runner: Runner,
        model: IncrementalEncoderDecoder,
        estimator: MedianThresholds | ReleasedThresholds,
    ) -> None:
        """Show all background pixels to the estimator."""
        loader = _whole_loader(runner)
        for number in range(estimator.num_passes):
            name = f'pass {number + 1}/{estimator.num_passes}'
            for batch in _with_progress(runner, loader, name):
                data = model.data_preprocessor(batch, training=True)
                samples = data['data_samples']
                count = sum(
                    s.metainfo.get('view') != 'erased' for s in samples
                )
                outputs = run_network(model.teacher, data['inputs'][:count])
                for i in range(count):
                    logits = outputs.image_logits(i)
                    background = samples[i].gt_sem_seg.data[0] == 0
                    entropy = normalised_entropy(logits, model.num_classes)
                    estimator.update(
                        entropy[background], logits.argmax(0)[background]
                    )
            estimator.end_pass()


def _whole_loader(runner: Runner) -> torch.utils.data.DataLoader:
    """Return a loader that meets every training image once."""
    cfg = copy.deepcopy(runner.cfg.train_dataloader)
    cfg.update(
        dataset=runner.train_dataloader.dataset,
        sampler=dict(type='DefaultSampler', shuffle=False, round_up=False),
        drop_last=False,
        persistent_workers=False,
    )
    cfg.pop('batch_sampler', None)
    seed_datasets(cfg['dataset'], runner.seed, EPOCH)
    return runner.build_dataloader(cfg, seed=runner.seed)


def _with_progress(
    runner: Runner, loader: torch.utils.data.DataLoader, name: str
) -> Iterator[dict]:
    start = logged = time.monotonic()
    for i, batch in enumerate(loader, start=1):
        yield batch
        now = time.monotonic()
        if now - logged > LOG_SECONDS or i == len(loader):
            eta = (now - start) / i * (len(loader) - i)
            runner.logger.info(
                f'thresholds of the pseudo-labels, {name}: batch '
                f'{i}/{len(loader)}, eta {eta:.0f} s'
            )
            logged = now
