"""A warm start of new rows: which channels made background of them (AWT)."""

from __future__ import annotations

import torch
from mmengine.dist import all_reduce
from mmseg.models import EncoderDecoder
from torch import Tensor

from mmseg_rbc.models.heads import decode_heads
from mmseg_rbc.models.outputs import Outputs, run_network
from mmseg_rbc.tasks import IGNORE_INDEX

# Of the channels, 64 of 256 in the published code.
CHOSEN = 0.25


def background_attribution(
    embedding: Tensor, baseline: Tensor, weight: Tensor
) -> Tensor:
    """Integrated gradients of background's logit, in closed form.

    The published code integrates gradients from f(x_0) to f(x) in 50 passes.
    A 1 x 1 classifier is linear, its gradient does not depend on the place on
    that way, so the integral is ``w_0c (f_c(x) - f_c(x_0))``.

    Args:
        embedding: f(x), ``(B, C, h, w)``.
        baseline: f(x_0) of the image that is zero after normalization,
            ``(1, C, h, w)``.
        weight: w_0, ``(C,)``.

    Returns:
        ``(B, C, h, w)``.
    """
    return weight[:, None, None] * (embedding - baseline)


class Attribution:
    """What channels contribute to background where new classes are.

    ``a_c = max over places of mean over images of 1[new class] * s_c``, with
    s of :func:`background_attribution`, over images with a new pixel. Labels
    are brought to the size of the embedding by nearest neighbor. All images
    must have one size.

    Args:
        network: The network of the previous step, in eval mode.
        num_old: O.
    """

    def __init__(self, network: EncoderDecoder, num_old: int) -> None:
        self.network = network
        self.num_old = num_old
        self._weight = rows(network)[0, :, 0, 0].detach()
        self._baseline: Tensor | None = None
        self._count = self._weight.new_zeros((), dtype=torch.float64)

    @torch.no_grad()
    def update(self, outputs: Outputs, labels: Tensor) -> None:
        """Add images.

        Args:
            outputs: Of the network over N images.
            labels: ``(N, H, W)``.
        """
        if self._baseline is None:
            zeros = outputs.embedding.new_zeros(1, 3, *outputs.size)
            self._baseline = run_network(self.network, zeros).embedding
            self._total = self._baseline[0].new_zeros(
                self._baseline.shape[1:], dtype=torch.float64
            )
        if outputs.embedding.shape[1:] != self._total.shape:
            raise ValueError(
                f'images of one size were expected, found {outputs.size} '
                'after another: attributed rows need the crops of one '
                'crop_size'
            )
        small = outputs.small(labels)
        is_new = (small >= self.num_old) & (small != IGNORE_INDEX)
        scores = background_attribution(
            outputs.embedding, self._baseline, self._weight
        )
        self._total += (scores * is_new[:, None]).double().sum(0)
        self._count += is_new.flatten(1).any(1).sum()

    def attribution(self) -> Tensor:
        """Return a, ``(C,)``, from the images of all processes."""
        total, count = self._total.clone(), self._count.clone()
        all_reduce(total)
        all_reduce(count)
        return (total / count.clamp(min=1)).amax((1, 2))

    def channels(self) -> list[int]:
        """Return the quarter of the channels with the largest a."""
        scores = self.attribution()
        number = max(1, round(CHOSEN * len(scores)))
        return sorted(scores.topk(number).indices.tolist())


def rows(network: EncoderDecoder) -> Tensor:
    """Return ``(K, C, 1, 1)``, the classifier, of a cascade the last one."""
    return decode_heads(network)[-1].conv_seg.weight


@torch.no_grad()
def add_background(weight: Tensor, channels: list[int], num_old: int) -> None:
    """Add the background row to new rows, on some channels, in place.

    Args:
        weight: ``(K, C, 1, 1)`` of a classifier.
        channels: The channels.
        num_old: O.
    """
    weight[num_old:, channels] += weight[:1, channels]
