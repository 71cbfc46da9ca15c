"""Count the memory of R-101 at 512 pixels from shapes; nothing is measured.

Activations that autograd keeps are counted by running the network on torch's
meta device, which computes shapes only, and adding up what is saved for the
backward pass; weights, gradients, momentum and the teacher from their sizes;
the losses from the limit that ``tests/test_loss_costs.py`` holds them to.
Left out: the CUDA context, workspaces of cuDNN and fragments, for which 1.5 GB
are kept free; what the teacher, and a block that with_cp computes again, hold
while they run. AMP counts as half of the activations.
"""

from __future__ import annotations

import warnings

import torch
from cases import BASE
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS

from mmseg_rbc.models.outputs import run_network

GB = 2**30
GPUS = (8, 11, 16, 24, 80)
BATCHES = (24, 12, 8, 6, 4, 2, 1)


def build(num_classes: int, with_cp: bool) -> EncoderDecoder:
    """Build DeepLabV3 with a ResNet-101, without any memory."""
    cfg = Config.fromfile(BASE / 'models/deeplabv3_r101-d16.py').model
    cfg.type = 'EncoderDecoder'
    cfg.backbone.pop('init_cfg')
    cfg.backbone.with_cp = with_cp
    cfg.decode_head.num_classes = num_classes
    for part in (cfg.backbone, cfg.decode_head):
        part.norm_cfg = dict(type='BN', requires_grad=True)
    with torch.device('meta'):
        return MODELS.build(cfg).train()


def saved_bytes(model: EncoderDecoder, size: int) -> int:
    """Return the bytes that one image leaves for the backward pass."""
    weights = {p.untyped_storage()._cdata for p in model.parameters()}
    storages: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights:
            storages[storage._cdata] = storage
        return tensor

    picture = torch.empty(2, 3, size, size, device='meta')
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        run_network(model, picture)
    return sum(storage.nbytes() for storage in storages.values()) // 2


def count(
    num_classes: int, amp: bool, with_cp: bool, size: int
) -> tuple[int, float]:
    """Return fixed bytes, and bytes an image."""
    model = build(num_classes, with_cp)
    weights = 4 * sum(p.numel() for p in model.parameters())
    image = saved_bytes(model, size) * (0.5 if amp else 1)
    logits = num_classes * size * size * 4
    # Weights, gradients, momentum; the teacher's weights.
    return 4 * weights, image + 0.5 * logits


def main() -> None:
    """Print the table of docs/speed.md."""
    warnings.simplefilter('ignore')
    init_default_scope('mmseg')
    print('| data | switches | an image | batch 24 |', end='')
    print(''.join(f' {gpu} GB |' for gpu in GPUS))
    print('|---|---|---|---|' + '---|' * len(GPUS))
    cases = [
        ('float32', False, False, 512),
        ('AMP', True, False, 512),
        ('AMP, with_cp', True, True, 512),
        ('AMP, with_cp, crops of 384', True, True, 384),
    ]
    for data, num_classes in (('VOC', 21), ('ADE20K', 151)):
        for name, amp, with_cp, size in cases:
            fixed, image = count(num_classes, amp, with_cp, size)
            fits = []
            for gpu in GPUS:
                # Of a GPU 1.5 GB are gone before anything is stored.
                room = (gpu - 1.5) * GB - fixed
                best = [n for n in BATCHES if n * image <= room]
                fits.append(str(best[0]) if best else '-')
            total = (fixed + 24 * image) / GB
            print(
                f'| {data} | {name} | {image / GB:.2f} GB | {total:.1f} GB | '
                f'{" | ".join(fits)} |'
            )


if __name__ == '__main__':
    main()
