"""What the property-based tests draw: the edges of what training sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st
from mmseg.registry import MODELS
from torch import Tensor

from mmseg_rbc.models.outputs import Outputs
from mmseg_rbc.tasks import IGNORE_INDEX, Task

SIDES = st.integers(1, 7)
SEEDS = st.integers(0, 2**32 - 1)
SCALES = (1.0, 0.0, 1e-4, 50.0, 3e4)
LARGEST = 6e4  # float16 ends at 65504.

CRITERIA = dict(
    ce=dict(type='PixelCrossEntropy'),
    unbiased_ce=dict(type='UnbiasedCrossEntropy'),
    one_vs_rest=dict(type='OneVsRestCrossEntropy'),
)
PIXEL_DISTANCES = dict(
    kd=dict(type='KnowledgeDistillationLoss'),
    unbiased_kd=dict(type='KnowledgeDistillationLoss', unbiased=True),
    sigmoid_kd=dict(type='SigmoidDistillationLoss'),
)
FEATURE_DISTANCES = dict(
    feature=dict(type='FeatureDistillationLoss'),
    pod=dict(type='LocalPODLoss'),
    relative_pod=dict(type='LocalPODLoss', relative=True),
)
CONSISTENCIES = dict(
    student=dict(type='ContextConsistencyLoss', pairing='student'),
    teacher=dict(type='ContextConsistencyLoss', pairing='teacher'),
)
LABELED = dict(label_guided=dict(type='LabelGuidedDistillationLoss'))
LOSSES = {
    **CRITERIA,
    **PIXEL_DISTANCES,
    **FEATURE_DISTANCES,
    **CONSISTENCIES,
    **LABELED,
}


@dataclass
class Case:
    """What a loss is given: both networks' outputs and the labels.

    Attributes:
        student: Outputs whose tensors want gradients.
        teacher: Outputs of the same size with ``num_old`` classes.
        target: ``(B, H, W)`` labels.
    """

    student: Outputs
    teacher: Outputs
    target: Tensor

    @property
    def num_old(self) -> int:
        return self.teacher.small_logits.shape[1]

    @property
    def num_seen(self) -> int:
        return self.student.small_logits.shape[1]

    def loss(self, name: str, weight: Tensor | None = None) -> Tensor:
        """Evaluate one of :data:`LOSSES` as the segmentor does."""
        module = MODELS.build(LOSSES[name])
        if name in CRITERIA:
            return module(self.student, self.target, weight, self.num_old)
        student = self.student
        if name in LABELED:
            student = replace(student, labels=self.target)
        return module(student, self.teacher, self.target)

    def gradients(self, loss: Tensor) -> list[Tensor]:
        """Return the gradients of what the loss depends on."""
        leaves = _maps(self.student)
        found = torch.autograd.grad(loss, leaves, allow_unused=True)
        return [gradient for gradient in found if gradient is not None]

    def changed(self, change: Callable[[Tensor], Tensor]) -> Case:
        """Apply a function to all maps, those of labels included."""
        target = change(self.target)
        size = (target.shape[1], target.shape[2])
        student, teacher = (
            replace(
                outputs,
                feats=tuple(map(change, outputs.feats)),
                embedding=change(outputs.embedding),
                small_logits=change(outputs.small_logits),
                size=size,
            )
            for outputs in (self.student, self.teacher)
        )
        return Case(student, teacher, target)

    def but(self, **given: Tensor) -> Case:
        """Take other labels, or other small logits of a network."""
        student, teacher = (
            replace(outputs, small_logits=given.get(key, outputs.small_logits))
            for key, outputs in (
                ('student', self.student),
                ('teacher', self.teacher),
            )
        )
        return Case(student, teacher, given.get('target', self.target))


def _maps(outputs: Outputs) -> list[Tensor]:
    return [*outputs.feats, outputs.embedding, outputs.small_logits]


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def label_maps(
    draw: st.DrawFn, batch: int, size: tuple[int, int], labels: Sequence[int]
) -> Tensor:
    """Draw maps of few labels each: one class, only void, nothing new."""
    few = st.lists(
        st.sampled_from(labels), min_size=1, max_size=4, unique=True
    )
    g, maps = generator(draw(SEEDS)), []
    for _ in range(batch):
        palette = torch.tensor(draw(few))
        maps.append(palette[torch.randint(len(palette), size, generator=g)])
    return torch.stack(maps)


@st.composite
def value_maps(
    draw: st.DrawFn,
    shape: tuple[int, ...],
    scales: Sequence[float] = SCALES,
) -> Tensor:
    """Draw ``(B, C, h, w)`` random, equal or one-hot values of any scale."""
    values = torch.randn(shape, generator=generator(draw(SEEDS)))
    if draw(st.booleans()):
        largest = values.argmax(1, keepdim=True)
        values = torch.zeros(shape).scatter(1, largest, 1.0)
    scale = draw(st.sampled_from(scales))
    return (scale * values).clamp(-LARGEST, LARGEST)


@st.composite
def cases(
    draw: st.DrawFn,
    num_views: int = 1,
    scales: Sequence[float] = SCALES,
    strides: Sequence[int] = (1, 2),
    dtype: torch.dtype = torch.float32,
) -> Case:
    """Draw a case of 2 to 4 old and 1 to 3 new classes.

    With two views the second half of the labels is that of erased images.
    """
    num_old, num_new = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    batch, size = draw(st.integers(1, 3)), (draw(SIDES), draw(SIDES))
    stride = draw(st.sampled_from(strides))
    small = [math.ceil(side / stride) for side in size]

    def outputs(num_classes: int) -> Outputs:
        channels = (2, 3, 4, num_classes)
        shapes = [(num_views * batch, c, *small) for c in channels]
        *feats, embedding, logits = (
            draw(value_maps(shape, scales)).to(dtype).requires_grad_()
            for shape in shapes
        )
        return Outputs(
            tuple(feats), (), embedding, logits, size, num_views=num_views
        )

    labels = [*range(num_old + num_new), IGNORE_INDEX]
    target = draw(label_maps(batch, size, labels))
    if num_views == 2:
        erased = target.where(target < num_old, IGNORE_INDEX)
        target = torch.cat([target, erased])
    return Case(outputs(num_old + num_new), outputs(num_old), target)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Draw steps of any sizes and order; some classes may be in none."""
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(1, count + 1)))
    learned = order[: draw(st.integers(1, count))]
    cuts = draw(st.sets(st.integers(1, count)))
    ends = [*sorted(cut for cut in cuts if cut < len(learned)), len(learned)]
    steps = [learned[a:b] for a, b in zip([0, *ends], ends)]
    return Task.from_names(steps, [str(c) for c in range(count + 1)])
