"""Measure what an iteration of a method costs beyond the bare work.

The bare work is a forward and backward pass of the student with plain cross
entropy and a forward pass of the teacher, on the same images, in the same
process. For the memory of the losses see losses.py.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from mmengine.config import Config, DictAction
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

import mmseg_rbc  # noqa: F401
from mmseg_rbc.engine import step_config
from mmseg_rbc.models import IncrementalEncoderDecoder
from mmseg_rbc.models.losses import pixel_cross_entropy
from mmseg_rbc.models.outputs import run_network
from mmseg_rbc.models.teacher import build_teacher, hide_module


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('config', help='config file')
    parser.add_argument('--step', type=int, default=1)
    parser.add_argument('--images', type=int, default=1, help='N')
    parser.add_argument('--size', type=int, default=512, help='of a crop')
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument(
        '--cfg-options', nargs='+', action=DictAction, metavar='KEY=VALUE'
    )
    return parser.parse_args()


def build_model(cfg: Config) -> IncrementalEncoderDecoder:
    """Build student and teacher with random weights."""
    cfg.model.backbone.pop('init_cfg', None)
    model = MODELS.build(cfg.model)
    num_old = cfg.model.previous.num_classes
    head = dict(cfg.model.decode_head, num_classes=num_old)
    parts = dict(backbone=cfg.model.backbone, decode_head=head)
    state = MODELS.build(dict(parts, type='EncoderDecoder')).state_dict()
    hide_module(model, 'teacher', build_teacher(parts, state, num_old))
    model.is_init = True
    if model.pseudo_labeler is not None:
        model.pseudo_labeler.thresholds = torch.full((num_old,), 0.01)
    return model.train()


def make_batch(
    images: int, views: int, size: int, num_old: int, num_seen: int
) -> tuple[torch.Tensor, list[SegDataSample]]:
    """Return random images, half background and half new classes."""
    inputs = torch.randn(images * views, 3, size, size)
    samples = []
    for i in range(images * views):
        label = torch.randint(num_old, num_seen, (1, size, size))
        label[:, : size // 2] = 0
        view = 'full' if i < images else 'erased'
        sample = SegDataSample(metainfo=dict(view=view))
        sample.gt_sem_seg = PixelData(data=label)
        samples.append(sample)
    return inputs, samples


def timed(function: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Run the command line."""
    args = parse_args()
    cfg = Config.fromfile(args.config)
    options = dict(args.cfg_options or {})
    cfg.merge_from_dict(options)
    init_default_scope('mmseg')
    cfg.model.backbone.norm_cfg = dict(type='BN')
    cfg.model.decode_head.norm_cfg = dict(type='BN')
    views = 2 if cfg.method.get('erase') else 1
    cfg = step_config(cfg, args.step, options=options)
    model = build_model(cfg)
    num_old = cfg.model.previous.num_classes
    inputs, samples = make_batch(
        args.images, views, args.size, num_old, model.num_classes
    )
    target = torch.cat([s.gt_sem_seg.data for s in samples])

    def method() -> None:
        losses = model.loss(inputs, samples)
        torch.stack(list(losses.values())).sum().backward()

    def bare() -> None:
        loss = pixel_cross_entropy(run_network(model, inputs).logits, target)
        with torch.no_grad():
            run_network(model.teacher, inputs)
        loss.backward()

    for function in (method, bare):
        function()
    times = np.array(
        [[timed(method), timed(bare)] for _ in range(args.repeats)]
    )
    a, b = np.median(times, axis=0)
    print(
        f'{args.images} image(s) x {views} view(s) of {args.size}x{args.size}'
        f': method {a:.2f} s, bare work {b:.2f} s, ratio {a / b:.3f}'
    )


if __name__ == '__main__':
    main()
