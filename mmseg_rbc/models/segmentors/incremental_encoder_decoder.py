"""One segmentor for all continual methods."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from mmseg_rbc.models.classifier import (
    INITIALIZATIONS,
    check_head,
    grow_state_dict,
    loss_weight,
)
from mmseg_rbc.models.frozen import eval_frozen, freeze, share_frozen
from mmseg_rbc.models.heads import all_heads, all_logits
from mmseg_rbc.models.losses import balance_weight, image_share
from mmseg_rbc.models.outputs import Outputs, run_network
from mmseg_rbc.models.teacher import build_teacher, hide_module
from mmseg_rbc.tasks import IGNORE_INDEX
from mmseg_rbc.utils.checkpoint import check_origin, load_checkpoint


@MODELS.register_module()
class IncrementalEncoderDecoder(EncoderDecoder):
    """``EncoderDecoder`` that learns new classes with a frozen teacher.

    A method is a dict of parts; none of them is a subclass. In training:

    .. code-block:: text

        loss(): student ── run_network ──> Outputs
                teacher ── run_network ──> Outputs   (if the method has one)
                refine():    target, weight from pseudo-labels and balance
                criterion    (student outputs, target, weight)
                each loss    (student outputs, teacher outputs, target)

    In evaluation, and in what a checkpoint holds, it is the stock class.

    Args:
        method: The parts, all but ``criterion`` optional:

            - criterion: loss of labeled pixels.
            - classifier_init: ``random``, ``balanced``, ``weighted`` or
              ``attributed``.
            - new_share, row_weights: see :func:`.grow_state_dict`.
            - pseudo_labeler: labels for old classes in the background.
            - balance: whether old pixels get the weight of RBC's eq. (8).
            - full_view_weight: of the full views of duplets in the criterion,
              whose mean is over both; 2 gives new classes the weight that
              they have without erased views.
            - losses: named losses between student and teacher.
        previous: Where the teacher comes from, from step 1 on:
            ``checkpoint``, ``num_classes``, and ``expected``, which its
            metainfo must agree with.
        fuse_teacher: Whether to merge batch norms of the teacher, unless
            parts are frozen.
        background: Whether class 0 is background. Without one, a label
            below O only says that a pixel is no new class: pseudo-labels and
            MiB's criterion answer which it is, others ignore it.
        freeze_norm: Whether batch norms use their running statistics, and do
            not change them, from step 1 on.
        frozen: Names or beginnings of names of parts that do not change from
            step 1 on, see :func:`.freeze`. What student and teacher share
            runs once for both, see :func:`.share_frozen`.
        channels_last: Whether to keep weights in the channels-last memory
            format; convolutions then run in it, which is faster on many
            machines.
        kwargs: See ``EncoderDecoder``.
    """

    def __init__(
        self,
        *args: Any,
        method: Mapping[str, Any] | None = None,
        previous: Mapping[str, Any] | None = None,
        fuse_teacher: bool = True,
        background: bool = True,
        freeze_norm: bool = False,
        frozen: Sequence[str] = (),
        channels_last: bool = False,
        **kwargs: Any,
    ) -> None:
        # The teacher is built from these; building changes them.
        parts = ('num_stages', 'backbone', 'neck', 'decode_head')
        self_config = copy.deepcopy(
            {key: kwargs[key] for key in parts if kwargs.get(key)}
        )
        super().__init__(*args, **kwargs)
        self._network_config = self_config
        self._previous = previous
        self._fuse_teacher = fuse_teacher
        self.first_class = int(background)
        self.freeze_norm = freeze_norm
        self.frozen = tuple(frozen if previous else ())
        freeze(self, self.frozen)
        self._memory_format = (
            torch.channels_last if channels_last else torch.contiguous_format
        )
        hide_module(self, 'teacher', None)
        # A hook that needs the previous weights sets the first and takes the
        # second: their file is read once.
        self.keeps_previous = False
        self.previous_state: Mapping[str, Tensor] | None = None
        for head in all_heads(self):
            check_head(head)
        self._loss_weights = [loss_weight(head) for head in all_heads(self)]
        self._build_method(**(method or {}))

    def _build_method(
        self,
        criterion: Mapping[str, Any] | None = None,
        classifier_init: str = 'random',
        new_share: float | None = None,
        row_weights: Sequence[Sequence[float]] | None = None,
        pseudo_labeler: Mapping[str, Any] | None = None,
        balance: bool = False,
        full_view_weight: float = 1.0,
        losses: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if classifier_init not in INITIALIZATIONS:
            raise ValueError(
                f'classifier_init={classifier_init!r} is unknown: choose one '
                f'of {", ".join(INITIALIZATIONS)}'
            )
        if classifier_init == 'attributed' and not self.first_class:
            raise ValueError(
                "classifier_init='attributed' starts new rows from "
                'background, but this network has none: choose "weighted"'
            )
        if new_share is not None and not 0 < new_share < 1:
            raise ValueError(
                f'new_share={new_share} is no part of a probability: choose a '
                'number between 0 and 1'
            )
        self.criterion = MODELS.build(
            criterion or dict(type='PixelCrossEntropy')
        )
        self.initialization = (classifier_init, new_share, row_weights)
        self.balance = balance
        self.full_view_weight = full_view_weight
        self.pseudo_labeler = (
            MODELS.build(pseudo_labeler) if pseudo_labeler else None
        )
        self.losses = nn.ModuleDict(
            {name: MODELS.build(cfg) for name, cfg in (losses or {}).items()}
        )

    @property
    def num_old(self) -> int:
        """O, the classes of the previous step; 0 in step 0."""
        return self._previous['num_classes'] if self._previous else 0

    @property
    def _ignores_unlabeled(self) -> bool:
        """Whether nothing says which old class an unlabeled pixel is."""
        answers = getattr(self.criterion, 'uses_num_old', False)
        return not (self.first_class or self.pseudo_labeler or answers)

    def train(self, mode: bool = True) -> IncrementalEncoderDecoder:
        """Set the mode, all but frozen parts and batch norms."""
        super().train(mode)
        if mode and self.num_old:
            eval_frozen(self, self.frozen, self.freeze_norm)
        return self

    def init_weights(self) -> None:
        """Initialize, or take over the previous step and grow.

        Runs before the Runner loads or resumes, which then overwrites it.
        """
        if self._previous is None:
            super().init_weights()
        else:
            self._grow()
        self.to(memory_format=self._memory_format)

    def _grow(self) -> None:
        """Take over the previous step from its checkpoint."""
        assert self._previous is not None
        path = self._previous['checkpoint']
        content = load_checkpoint(
            path,
            'the checkpoint of the previous step',
            'train that step first, or pass --init-from',
        )
        check_origin(content, path, self._previous.get('expected', {}))
        self.take_over(content['state_dict'])

    def take_over(self, state: Mapping[str, Tensor]) -> None:
        """Take over the previous step, as student and as teacher.

        Without losses, pseudo-labels and balance nobody asks a teacher: FT,
        EWC, PI and RW have none.

        Args:
            state: The weights of the previous step.
        """
        # Only the heads: new rows need their fresh weights, and everything
        # else comes from the previous step.
        for head in all_heads(self):
            head.init_weights()
        grown = grow_state_dict(state, self.state_dict(), *self.initialization)
        self.load_state_dict(grown)
        self.is_init = True
        self.previous_state = state if self.keeps_previous else None
        if self.losses or self.pseudo_labeler or self.balance:
            self._build_teacher(state)

    def _build_teacher(self, state: Mapping[str, Tensor]) -> None:
        """Build the teacher, hidden, on the device of the student."""
        fuse = self._fuse_teacher and not self.frozen
        teacher = build_teacher(
            self._network_config, state, self.num_old, fuse
        )
        device = next(self.parameters()).device
        teacher.to(device, memory_format=self._memory_format)
        share_frozen(self, teacher, self.frozen)
        hide_module(self, 'teacher', teacher)

    def loss(
        self, inputs: Tensor, data_samples: Sequence[SegDataSample]
    ) -> dict[str, Tensor]:
        """Compute the losses of a batch.

        Where processes have different numbers of images, every loss is
        weighted by :func:`.image_share`.

        Args:
            inputs: ``(B, 3, H, W)``; with duplets the full views, then the
                erased ones.
            data_samples: B samples with labels.

        Returns:
            ``loss_ce``, ``loss_<name>`` for every loss of the method, and
            what :func:`.all_logits` names.
        """
        if self._previous is not None and not self.is_init:
            raise RuntimeError('init_weights() must run before training')
        target = torch.cat([s.gt_sem_seg.data for s in data_samples])
        losses = self._losses(inputs, target, _num_views(data_samples))
        share = image_share(len(inputs), inputs)
        return {name: share * loss for name, loss in losses.items()}

    def _losses(
        self, inputs: Tensor, target: Tensor, num_views: int
    ) -> dict[str, Tensor]:
        """Return the losses of :meth:`loss` as means over its images."""
        if self._ignores_unlabeled:
            target = target.where(target >= self.num_old, IGNORE_INDEX)
        student = run_network(self, inputs, num_views, target)
        if self.teacher is None:
            return self._criterion_losses(student, target, None, self.num_old)
        # Not inference_mode: a loss may save outputs for its backward pass.
        with torch.no_grad():
            teacher = run_network(self.teacher, inputs, num_views)
        target, weight = self.refine(teacher, target)
        losses = self._criterion_losses(student, target, weight, self.num_old)
        for name, module in self.losses.items():
            losses[f'loss_{name}'] = module(student, teacher, target)
        return losses

    @torch.no_grad()
    def refine(
        self, teacher: Outputs, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Complete the labels with the teacher's, and weigh the pixels.

        Both come from the full views. The erased views get the same labels
        where they were not erased, and the same beta.

        Args:
            teacher: Outputs of the teacher over B images.
            target: ``(B, H, W)`` labels.

        Returns:
            ``(B, H, W)`` labels, and weights that expand to them.
        """
        views = target.chunk(teacher.num_views)
        full, beta = views[0], torch.ones(len(views[0]), device=target.device)
        if self.pseudo_labeler is not None:
            full, beta = self.pseudo_labeler(
                teacher, full, num_seen=self.num_classes
            )
        others = [view.where(view == IGNORE_INDEX, full) for view in views[1:]]
        weights = [beta[:, None, None]] * len(views)
        if self.balance:
            eta = balance_weight(full, self.num_old, self.first_class)
            weights = [weight.expand_as(eta) for weight in weights]
            weights[0] = weights[0] * eta
        if len(views) > 1:
            weights[0] = weights[0] * self.full_view_weight
        return torch.cat([full, *others]), torch.cat(weights)

    def _criterion_losses(
        self,
        student: Outputs,
        target: Tensor,
        weight: Tensor | None,
        num_old: int,
    ) -> dict[str, Tensor]:
        """Apply the criterion to all logits of decode and auxiliary heads."""
        losses = {}
        for name, index, logits in all_logits(self, student):
            outputs = replace(student, small_logits=logits)
            loss = self.criterion(outputs, target, weight, num_old)
            losses[name] = self._loss_weights[index] * loss
        return losses


def _num_views(data_samples: Sequence[SegDataSample]) -> int:
    return 1 + (data_samples[-1].metainfo.get('view') == 'erased')
