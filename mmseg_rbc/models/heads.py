"""Decode heads: which of them can learn step by step, and their logits."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mmseg.models import EncoderDecoder
from mmseg.models.decode_heads import DAHead, EncHead
from mmseg.models.decode_heads.cascade_decode_head import BaseCascadeDecodeHead
from mmseg.models.decode_heads.decode_head import BaseDecodeHead
from torch import Tensor, nn

if TYPE_CHECKING:
    from .outputs import Outputs

# Their loss is the same cross entropy of each of their logits.
SAME_LOSS = (BaseDecodeHead, BaseCascadeDecodeHead, DAHead, EncHead)
GOOD = 'ASPPHead, FCNHead, UPerHead or SegformerHead'
# A head that classifies otherwise removes the classifier of its base class.
REMOVES = re.compile(r'del(attr)?[ (]self(\.|, .)conv_seg')


def check_head_class(cls: type, config: Mapping[str, Any]) -> None:
    """Raise for a head that cannot learn step by step, before it is built.

    Args:
        cls: Its class.
        config: Its config.
    """
    name = cls.__name__
    if not issubclass(cls, BaseDecodeHead) or not _has_classifier(cls):
        raise ValueError(
            f'{name} has no classifier that can grow: choose a head that '
            f'classifies through cls_seg, such as {GOOD}'
        )
    if issubclass(cls, EncHead) and config.get('use_se_loss', True):
        raise ValueError(
            f'{name} with use_se_loss=True has a second classifier, of whole '
            'images, which cannot grow: set use_se_loss=False'
        )
    for method in ('loss', 'loss_by_feat'):
        owner = next(base for base in cls.__mro__ if method in vars(base))
        if owner not in SAME_LOSS:
            raise ValueError(
                f'{name} has a loss of its own ({owner.__name__}.{method}), '
                'but the loss of a step is method.criterion: choose another '
                f'head, such as {GOOD}'
            )


def _has_classifier(cls: type) -> bool:
    """Whether a head keeps ``conv_seg``, and calls it through ``cls_seg``."""
    sources = [
        inspect.getsource(base)
        for base in cls.__mro__
        if issubclass(base, BaseDecodeHead) and base is not BaseDecodeHead
    ]
    text = '\n'.join(sources)
    return 'cls_seg' in text and not REMOVES.search(text)


def stock_segmentor(config: Mapping[str, Any]) -> str:
    """Return the segmentor of MMSeg that the config of ours stands for."""
    is_cascade = 'num_stages' in config
    return 'CascadeEncoderDecoder' if is_cascade else 'EncoderDecoder'


def decode_heads(model: EncoderDecoder) -> list[BaseDecodeHead]:
    """Return the decode head, or those of a cascade in their order."""
    head = model.decode_head
    return list(head) if isinstance(head, nn.ModuleList) else [head]


def all_heads(model: EncoderDecoder) -> list[BaseDecodeHead]:
    """Return the decode heads, then the auxiliary ones."""
    heads = model.auxiliary_head if model.with_auxiliary_head else []
    several = isinstance(heads, (list, nn.ModuleList))
    return [*decode_heads(model), *(heads if several else [heads])]


def all_logits(
    model: EncoderDecoder, student: Outputs
) -> Iterator[tuple[str, int, Tensor]]:
    """Yield everything that the criterion is applied to.

    Args:
        model: The student.
        student: What it returned.

    Yields:
        The name of the loss (``loss_ce``; ``decode_<i>.loss_ce`` of other
        logits, ``aux_<i>.loss_ce`` of an auxiliary head), the position of the
        head in :func:`all_heads`, and logits ``(B, K, h, w)``.
    """
    last = len(decode_heads(model)) - 1
    yield 'loss_ce', last, student.small_logits
    for i, logits in enumerate(student.other_logits):
        yield f'decode_{i}.loss_ce', min(i, last), logits
    for i, head in enumerate(all_heads(model)[last + 1 :]):
        logits = head(student.head_inputs)
        yield f'aux_{i}.loss_ce', last + 1 + i, logits


def run_heads(
    model: EncoderDecoder, head_inputs: tuple
) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Run the decode head of a segmentor, or its cascade of them.

    Args:
        model: Student or teacher.
        head_inputs: What backbone or neck returned.

    Returns:
        The input of the last classifier ``(B, C, h, w)``, its logits
        ``(B, K, h, w)``, and other logits to be trained like them: those of
        earlier heads, then those of further branches of the last one.
    """
    *earlier, last = decode_heads(model)
    others: list[Tensor] = []
    for head in earlier:
        others.append(head(head_inputs, *others[-1:]))
    with _calls_of(last.conv_seg) as calls:
        found = last(head_inputs, *others[-1:])
    branches = found if isinstance(found, tuple) else (found,)
    own = [b for b in branches if any(b is output for _, output in calls)]
    if isinstance(found, Tensor):
        # SETR resizes what the classifier returned.
        own = [found]
    if not calls or len(own) != 1:
        raise ValueError(
            f'{type(last).__name__} did not classify through cls_seg once: '
            'choose a head whose forward() returns self.cls_seg(...)'
        )
    others += [branch for branch in branches if branch is not own[0]]
    return calls[-1][0], own[0], tuple(others)


@contextmanager
def _calls_of(module: nn.Module) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Collect what a module is called with, and what it returns.

    The hook lives for one call only, so no copy of the model carries it.
    """
    calls: list[tuple[Tensor, Tensor]] = []
    hook = module.register_forward_hook(
        lambda _, args, output: calls.append((args[0], output))
    )
    try:
        yield calls
    finally:
        hook.remove()
