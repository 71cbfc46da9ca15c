"""Attributed rows: the closed form against integrated gradients, by loops."""

import pytest
import torch
from mmseg.registry import MODELS
from model_cases import OLD, SEEN, trained_network
from model_cases import network as network_config

from mmseg_rbc.models.attribution import (
    Attribution,
    add_background,
    background_attribution,
    rows,
)
from mmseg_rbc.models.outputs import run_network

SIZE = (16, 24)


@pytest.fixture
def network():
    return trained_network(OLD).eval()


def images(count: int, seed: int = 0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(count, 3, *SIZE, generator=g)


def labels() -> torch.Tensor:
    """Three label maps; the last has no new class, void is none."""
    g = torch.Generator().manual_seed(1)
    target = torch.randint(0, SEEN, (3, *SIZE), generator=g)
    target[2] = target[2] % OLD
    target[2, :4] = 255
    return target


def integrated_gradients(network, image, resized: bool) -> torch.Tensor:
    """Riemann sum of 50 gradients of the summed logit of background."""
    with torch.no_grad():
        end = run_network(network, image).embedding
        start = run_network(network, torch.zeros_like(image)).embedding
    total = torch.zeros_like(end)
    for k in range(50):
        point = start + (k + 0.5) / 50 * (end - start)
        point.requires_grad_()
        logits = network.decode_head.cls_seg(point)
        if resized:
            logits = torch.nn.functional.interpolate(
                logits, scale_factor=8, mode='bilinear'
            )
        total += torch.autograd.grad(logits[:, 0].sum(), point)[0]
    return total / 50 * (end - start)


@pytest.mark.parametrize('resized', [False, True])
def test_closed_form_is_the_integral(network, resized):
    """The resize to 8 times the size multiplies it by 8 x 8 everywhere."""
    image = images(1)
    with torch.no_grad():
        found = background_attribution(
            run_network(network, image).embedding,
            run_network(network, torch.zeros_like(image)).embedding,
            network.decode_head.conv_seg.weight[0, :, 0, 0],
        )
    slow = integrated_gradients(network, image, resized)
    slow = slow / 64 if resized else slow
    scale = slow.abs().max()
    assert scale > 1e-3
    torch.testing.assert_close(found / scale, slow / scale, rtol=0, atol=1e-5)


@torch.no_grad()
def test_channels_by_a_loop(network):
    x, y = images(3), labels()
    gathered = Attribution(network, OLD)
    gathered.update(run_network(network, x[:1]), y[:1])
    gathered.update(run_network(network, x[1:]), y[1:])
    start = run_network(network, torch.zeros(1, 3, *SIZE)).embedding[0]
    feats = run_network(network, x).embedding
    channels, height, width = start.shape
    steps = SIZE[0] // height, SIZE[1] // width
    weight = network.decode_head.conv_seg.weight[0, :, 0, 0]
    expected = []
    for c in range(channels):
        means = []
        for i in range(height):
            for j in range(width):
                values = [
                    (weight[c] * (feats[n, c, i, j] - start[c, i, j])).item()
                    for n in (0, 1)
                    if OLD <= y[n, i * steps[0], j * steps[1]] < SEEN
                ]
                means.append(sum(values) / 2)
        expected.append(max(means))
    found = gathered.attribution()
    torch.testing.assert_close(
        found, torch.tensor(expected, dtype=found.dtype), rtol=1e-5, atol=1e-8
    )
    best = sorted(range(channels), key=expected.__getitem__)[-2:]
    assert channels == 6 and gathered.channels() == sorted(best)


@torch.no_grad()
def test_a_cascade_is_asked_by_its_last_head():
    """Its embedding and its background row; the first head has others."""
    norm = dict(type='BN')
    first = dict(network_config(OLD)['decode_head'], norm_cfg=norm)
    last = dict(first, type='OCRHead', channels=4, ocr_channels=4)
    cascade = dict(
        network_config(OLD),
        type='IncrementalCascadeEncoderDecoder',
        num_stages=2,
        decode_head=[
            first,
            {k: v for k, v in last.items() if k != 'num_convs'},
        ],
    )
    torch.manual_seed(0)
    model = MODELS.build(cascade).eval()
    head = model.decode_head[-1]
    assert rows(model) is head.conv_seg.weight
    gathered = Attribution(model, OLD)
    outputs = run_network(model, images(3))
    gathered.update(outputs, labels())
    assert gathered.attribution().shape == (head.channels,)
    assert len(gathered.channels()) == 1


def test_images_of_another_size(network):
    gathered = Attribution(network, OLD)
    with torch.no_grad():
        gathered.update(run_network(network, images(1)), labels()[:1])
        other = run_network(network, images(1)[..., :8])
    with pytest.raises(ValueError, match='images of one size'):
        gathered.update(other, labels()[:1, :, :8])


def test_background_on_the_chosen_channels():
    weight = torch.arange(20.0).reshape(5, 4, 1, 1)
    before = weight.clone()
    add_background(weight, [1, 3], num_old=3)
    expected = before.clone()
    for row in (3, 4):
        for channel in (1, 3):
            expected[row, channel] += before[0, channel]
    assert torch.equal(weight, expected)
