"""A model of how published code schedules RBC's work, for comparison.

Written for this benchmark after the released code's order of work, with none
of its text: the teacher runs on the originals for pseudo-labels and again on
all 2N images for the distances; each image is erased on its own, through
numpy, inside the iteration; labels are refined and losses taken on full-size
logits of the whole batch. Networks, layers and weights are ours.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from cases import Iteration
from torch import Tensor

from mmseg_rbc.models.losses import balance_weight
from mmseg_rbc.models.outputs import Outputs, run_network
from mmseg_rbc.models.teacher import build_teacher


class PublishedSchedule:
    """RBC as published code runs it, with the networks of an iteration."""

    def __init__(self, case: Iteration) -> None:
        self.case, self.model = case, case.model
        state = {
            key: value
            for key, value in self.model.state_dict().items()
            if key.startswith(('backbone', 'decode_head'))
        }
        num_old = self.model.num_old
        for key in ('weight', 'bias'):
            name = f'decode_head.conv_seg.{key}'
            state[name] = state[name][:num_old]
        # Published code runs the teacher as it is trained, not fused.
        self.teacher = build_teacher(
            self.model._network_config, state, num_old, fuse=False
        ).to(memory_format=self.model._memory_format)

    def run(self) -> None:
        """Run one iteration on the full views of the batch."""
        data = self.model.data_preprocessor(self.case.batch, True)
        half = len(data['inputs']) // 2
        images = data['inputs'][:half]
        samples = data['data_samples'][:half]
        target = torch.cat([s.gt_sem_seg.data for s in samples])
        with torch.no_grad():
            first = run_network(self.teacher, images)
            full, beta = self.pseudo_labels(first.logits, target)
        inputs, labels = self.duplets(images, target, full)
        student = run_network(self.model, inputs, 2)
        with torch.no_grad():
            teacher = run_network(self.teacher, inputs, 2)
        loss = self.loss(student, teacher, labels, beta)
        optimizer = self.case.bare_optimizer
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def pseudo_labels(
        self, logits: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Refine labels from full-size probabilities of the batch."""
        probs = logits.softmax(1)
        entropy = -(probs * (probs + 1e-8).log()).mean(1)
        classes = probs.argmax(1)
        background = target < self.model.num_old
        labeler = self.model.pseudo_labeler
        assert labeler is not None
        thresholds = labeler.thresholds
        accepted = background & (entropy < thresholds[classes])
        full = target.masked_fill(background & ~accepted, 255)
        full[accepted] = classes[accepted]
        count = background.sum((1, 2)).clamp(min=1)
        return full, accepted.sum((1, 2)) / count

    def duplets(
        self, images: Tensor, target: Tensor, full: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Erase the new classes of image after image, through numpy."""
        pictures, maps = [], []
        for image, raw, label in zip(images, target, full):
            picture = image.cpu().numpy().transpose(1, 2, 0).copy()
            erased = label.cpu().numpy().copy()
            new = raw.cpu().numpy() >= self.model.num_old
            picture[new] = 0
            erased[new] = 255
            view = torch.from_numpy(picture.transpose(2, 0, 1).copy())
            pictures.append(view)
            maps.append(torch.from_numpy(erased))
        inputs = torch.cat([images, torch.stack(pictures)])
        return inputs, torch.cat([full, torch.stack(maps)])

    def loss(
        self, student: Outputs, teacher: Outputs, labels: Tensor, beta: Tensor
    ) -> Tensor:
        """Add the losses, of full-size logits of the batch."""
        num_old = self.model.num_old
        logits, half = student.logits, len(beta)
        eta = balance_weight(labels[:half], num_old)
        ce = F.cross_entropy(
            logits, labels, ignore_index=255, reduction='none'
        )
        ones = torch.ones_like(eta)
        weight = torch.cat([eta, ones]) * beta.repeat(2)[:, None, None]
        is_old = (labels[:half] > 0) & (labels[:half] < num_old)
        a, b = logits[:, 1:num_old].chunk(2)
        distance = (a - b).square().sum(1) * is_old
        consistency = distance.sum() / is_old.sum().clamp(min=1)
        pod = sum(
            pod_distance(x, y) for x, y in zip(student.feats, teacher.feats)
        )
        pod = pod + pod_distance(student.embedding, teacher.embedding)
        return (ce * weight).mean() + 0.01 * consistency + 0.002 * pod


def pod_distance(student: Tensor, teacher: Tensor) -> Tensor:
    """Return local POD with loops over the cells, as published code has."""
    embeddings = []
    for feature in (student, teacher):
        square = feature**2
        height, width = square.shape[-2:]
        parts = []
        for s in (1, 2, 4):
            kh, kw = height // s, width // s
            for i in range(s):
                for j in range(s):
                    cell = square[
                        ..., i * kh : (i + 1) * kh, j * kw : (j + 1) * kw
                    ]
                    parts += [cell.mean(3).flatten(1), cell.mean(2).flatten(1)]
        embeddings.append(torch.cat(parts, 1))
    return torch.linalg.vector_norm(
        embeddings[0] - embeddings[1], dim=1
    ).mean()
