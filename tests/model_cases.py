"""Random outputs, labels and weights that several tests of models share."""

import copy

import torch
from mmengine.config import ConfigDict
from mmseg.registry import MODELS

from mmseg_rbc.models.outputs import Outputs

OLD, SEEN = 4, 6


def outputs(num_classes: int, batch: int = 2, num_views: int = 1, seed=0):
    """Random outputs whose tensors want gradients."""
    g = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.randn(*shape, generator=g).requires_grad_()

    return Outputs(
        feats=(rand(batch, 3, 8, 12), rand(batch, 5, 5, 7)),
        head_inputs=(),
        embedding=rand(batch, 4, 5, 7),
        small_logits=rand(batch, num_classes, 5, 7),
        size=(10, 14),
        num_views=num_views,
    )


def teacher_outputs(logits: torch.Tensor) -> Outputs:
    size = (logits.shape[2], logits.shape[3])
    return Outputs((), (), logits, logits, size)


def labels() -> torch.Tensor:
    """Labels of old, new and ignored pixels."""
    g = torch.Generator().manual_seed(3)
    target = torch.randint(0, SEEN, (2, 10, 14), generator=g)
    target[:, :2, :3] = 255
    return target


def assert_same(first, second, tensors):
    """Same value and same gradients, to 1e-5."""
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-7)
    a = torch.autograd.grad(first, tensors, retain_graph=True)
    b = torch.autograd.grad(second, tensors, retain_graph=True)
    for x, y in zip(a, b):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-7)


def pixels(*maps):
    """Yield the vectors of all pixels of maps (B, C, H, W) or (B, H, W)."""
    batch, height, width = maps[0].shape[0], *maps[0].shape[-2:]
    for b in range(batch):
        for y in range(height):
            for x in range(width):
                yield [m[b, ..., y, x] for m in maps]


def slow_log_prob(z: torch.Tensor, classes) -> torch.Tensor:
    """log of the summed softmax of some classes."""
    return (sum(z[c].exp() for c in classes) / z.exp().sum()).log()


def bce(z: torch.Tensor, t) -> torch.Tensor:
    p = 1 / (1 + (-z).exp())
    return -(t * p.log() + (1 - t) * (1 - p).log())


def walk(shape, seed: int = 0):
    """Random weights and gradients of 23 iterations: RW scores three."""
    g = torch.Generator().manual_seed(seed)

    def rand():
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    return [(rand(), rand()) for _ in range(23)], rand()


def gather(regularizer, steps, last, previous=None):
    """Train one tensor and return what goes on."""
    previous = previous or {}
    gathered = regularizer.begin(steps[0][0], previous)
    for count, (theta, gradient) in enumerate(steps):
        regularizer.update(gathered, theta, gradient, count)
    return regularizer.end(gathered, last, previous)


def each(tensors, *index):
    return [t[index].item() for t in tensors]


def network(num_classes, aux=False, **kwargs):
    """Return the config of a segmentor of a few weights."""
    norm = dict(type='BN')
    head = dict(
        type='FCNHead',
        in_channels=8,
        in_index=1,
        channels=6,
        num_convs=1,
        num_classes=num_classes,
        norm_cfg=norm,
        dropout_ratio=0,
    )
    cfg = dict(
        type='IncrementalEncoderDecoder',
        backbone=dict(
            type='ResNet',
            depth=18,
            base_channels=4,
            stem_channels=4,
            num_stages=2,
            strides=(1, 2),
            dilations=(1, 1),
            out_indices=(0, 1),
            norm_cfg=norm,
        ),
        decode_head=head,
        test_cfg=ConfigDict(mode='whole'),
        **kwargs,
    )
    if aux:
        cfg['auxiliary_head'] = dict(head, in_channels=4, in_index=0)
    return copy.deepcopy(cfg)


def trained_network(num_classes: int, aux: bool = False) -> torch.nn.Module:
    """Build :func:`network` with norms and a classifier that do something."""
    torch.manual_seed(1)
    model = MODELS.build(network(num_classes, aux))
    model.init_weights()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            module.weight.data.uniform_(0.5, 2)
            module.bias.data.normal_()
    model.decode_head.conv_seg.weight.data.normal_()
    return model
