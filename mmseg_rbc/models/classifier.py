"""The classifier of a head, and its growth from step to step."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence

import torch
from mmseg.models.decode_heads.decode_head import BaseDecodeHead
from mmseg.models.losses import CrossEntropyLoss
from torch import Tensor, nn

from mmseg_rbc.tasks import IGNORE_INDEX
from mmseg_rbc.utils.values import check_number

INITIALIZATIONS = ('random', 'balanced', 'weighted', 'attributed')


def is_classifier(key: str) -> bool:
    """Whether a weight of a network has one row for each class."""
    return 'conv_seg.' in key


def check_head(head: nn.Module) -> None:
    """Raise unless a head classifies through ``cls_seg`` and ``conv_seg``."""
    name = type(head).__name__
    classifier = getattr(head, 'conv_seg', None)
    uses = any(
        'cls_seg' in inspect.getsource(cls) or 'conv_seg' in vars(cls)
        for cls in type(head).__mro__
        if issubclass(cls, BaseDecodeHead) and cls is not BaseDecodeHead
    )
    if not uses or not isinstance(classifier, nn.Conv2d):
        raise ValueError(
            f'{name} has no classifier that can grow: choose a head that '
            'classifies through cls_seg, such as ASPPHead, FCNHead, UPerHead '
            'or SegformerHead'
        )
    if classifier.out_channels != head.num_classes:
        raise ValueError(
            f'{name} has {classifier.out_channels} output channels for '
            f'{head.num_classes} classes, expected one for each class: do not '
            'set out_channels'
        )


def loss_weight(head: BaseDecodeHead) -> float:
    """Return the weight of a head's loss, or raise for what is not used.

    The criterion of the method takes the place of ``loss_decode``: of the
    stock cross entropy ``loss_weight`` counts, anything else would be ignored.
    """
    name, loss = type(head).__name__, head.loss_decode
    is_plain = type(loss) is CrossEntropyLoss and not (
        loss.use_sigmoid
        or loss.use_mask
        or loss.class_weight is not None
        or loss.avg_non_ignore
        or loss.reduction != 'mean'
    )
    if not is_plain:
        raise ValueError(
            f'loss_decode of {name} ({type(loss).__name__}) is more than '
            'plain cross entropy, but the loss of a step is method.criterion: '
            'leave it out, or set dict(type="CrossEntropyLoss", '
            'loss_weight=...), whose weight is used'
        )
    if head.sampler is not None:
        raise ValueError(
            f'{name} has a sampler, {type(head.sampler).__name__}, which the '
            'loss of a continual step does not use: leave it out'
        )
    if head.ignore_index != IGNORE_INDEX:
        raise ValueError(
            f'{name} ignores label {head.ignore_index}, but pixels without a '
            f'label are {IGNORE_INDEX} here: leave ignore_index out'
        )
    check_number(loss.loss_weight, f'loss_weight of {name}', 0)
    return float(loss.loss_weight)


def grow_state_dict(
    old: Mapping[str, Tensor],
    new: Mapping[str, Tensor],
    initialization: str,
    new_share: float | None = None,
    row_weights: Sequence[Sequence[float]] | None = None,
) -> dict[str, Tensor]:
    """Fit the weights of step t-1 into the network of step t.

    Args:
        old: State of the old network, with O classes.
        new: State of the new one, K classes, freshly initialized.
        initialization: Of the N = K - O new rows of each ``conv_seg``.
            ``random`` keeps the fresh ones, and so does ``attributed``, to
            which :mod:`.attribution` adds what it takes images to know.
            ``balanced`` (MiB, eq. 8 and 9) copies the background row, so
            that the new classes share the probability of background:
            together they get the part s of it, with biases
            ``b_0 + ln(s / N)``, and that of background becomes
            ``b_0 + ln(1 - s)``.
            ``weighted`` makes each new row a mean of the old ones, weights
            and biases, and adds ``ln(s / N)`` to the bias. A mean of logits
            is never above the largest, so no prediction changes, and the
            old classes keep their ratios.
        new_share: s; equal parts, ``N / (N + 1)``, by default, as in MiB.
        row_weights: ``(N, O)`` of the weighted means, each row summing to
            1; equal ones by default.

    Returns:
        A state for the new network.
    """
    grown = {}
    for key, fresh in new.items():
        if key not in old:
            raise ValueError(
                f'the previous step has no weight {key!r}: keep backbone, '
                'neck and heads the same in all steps'
            )
        if old[key].shape == fresh.shape:
            grown[key] = old[key]
        elif is_classifier(key) and old[key].shape[1:] == fresh.shape[1:]:
            grown[key] = _grow(
                old[key], fresh, initialization, new_share, row_weights
            )
        else:
            raise ValueError(
                f'weight {key!r} has shape {tuple(old[key].shape)} in the '
                f'previous step and {tuple(fresh.shape)} in this one: only '
                'the classifier conv_seg of a head can grow'
            )
    return grown


def _grow(
    old: Tensor,
    fresh: Tensor,
    initialization: str,
    new_share: float | None,
    row_weights: Sequence[Sequence[float]] | None,
) -> Tensor:
    """Put the old rows first; a vector is a bias."""
    num_old, num_new = len(old), len(fresh) - len(old)
    grown = fresh.detach().clone()
    grown[:num_old] = old
    share = new_share or num_new / (num_new + 1)
    if initialization == 'balanced':
        if grown.dim() == 1:
            grown[0] += math.log(1 - share)
            grown[num_old:] = old[0] + math.log(share / num_new)
        else:
            grown[num_old:] = old[:1]
    elif initialization == 'weighted':
        weights = old.new_full((num_new, num_old), 1 / num_old)
        if row_weights is not None:
            weights = old.new_tensor(row_weights)
        grown[num_old:] = torch.einsum('no,o...->n...', weights, old)
        if grown.dim() == 1:
            grown[num_old:] += math.log(share / num_new)
    return grown


def fold_new_logits(logits: Tensor, num_old: int) -> Tensor:
    """Add the new logits to background, as PLOP does for its POD term.

    Args:
        logits: ``(B, K, h, w)``.
        num_old: O.

    Returns:
        ``(B, O, h, w)``: channel 0 is ``z_0 + sum_{c >= O} z_c``.
    """
    background = logits[:, :1] + logits[:, num_old:].sum(1, keepdim=True)
    return torch.cat([background, logits[:, 1:num_old]], dim=1)
