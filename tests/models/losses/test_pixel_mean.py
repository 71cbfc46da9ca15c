"""A mean over pixels against the same function of full-size logits."""

import pytest
import torch
from model_cases import OLD, SEEN, assert_same, labels, outputs
from torch.utils._python_dispatch import TorchDispatchMode

from mmseg_rbc.models.losses import pixel_cross_entropy, sigmoid_distillation
from mmseg_rbc.models.losses.pixel_mean import pixel_mean
from mmseg_rbc.models.outputs import Outputs


@pytest.mark.parametrize('size', [(10, 14), (3, 14), (1, 2), (23, 9), (5, 7)])
@pytest.mark.parametrize('align_corners', [False, True])
def test_value_and_gradient(size, align_corners):
    """Also of images with few rows, and with the size of the logits."""
    student = outputs(SEEN, batch=3)
    student.size, student.align_corners = size, align_corners
    before = student.small_logits.detach().clone()
    g = torch.Generator().manual_seed(0)
    target = torch.randint(0, SEEN, (3, *size), generator=g)
    for weight in (torch.rand(3, 1, 1), torch.rand(3, *size)):
        assert_same(
            pixel_mean(pixel_cross_entropy, student, target, weight),
            pixel_cross_entropy(student.logits, target, weight),
            [student.small_logits],
        )
    assert torch.equal(student.small_logits, before), 'not in place'


def test_teacher_gets_no_gradient():
    student, teacher = outputs(SEEN), outputs(OLD, seed=1)
    loss = pixel_mean(sigmoid_distillation, student, teacher)
    expected = sigmoid_distillation(student.logits, teacher.logits.detach())
    assert_same(loss, expected, [student.small_logits])
    loss.backward()
    assert teacher.small_logits.grad is None


def test_losses_of_one_graph_add_up():
    """Each alone with retain_graph, as GradientShareHook, then together."""
    student = outputs(SEEN)
    small = student.small_logits
    student.small_logits = 2 * small
    losses = [
        pixel_mean(pixel_cross_entropy, student, labels()),
        3 * pixel_mean(sigmoid_distillation, student, outputs(OLD, seed=1)),
    ]
    alone = [
        torch.autograd.grad(loss, small, retain_graph=True)[0]
        for loss in losses
    ]
    sum(losses).backward()
    torch.testing.assert_close(small.grad, sum(alone))
    with pytest.raises(RuntimeError, match='second time'):
        losses[0].backward()


def test_without_gradient():
    student = outputs(SEEN)
    expected = pixel_mean(pixel_cross_entropy, student, labels())
    with torch.no_grad():
        loss = pixel_mean(pixel_cross_entropy, student, labels())
    assert loss == expected and not loss.requires_grad
    student.small_logits = student.small_logits.detach()
    loss = pixel_mean(pixel_cross_entropy, student, labels())
    assert loss == expected and not loss.requires_grad


@pytest.mark.parametrize('dtype', [torch.bfloat16, torch.half])
def test_half_precision_is_computed_in_float32(dtype):
    full = outputs(SEEN)
    small = full.small_logits.detach().to(dtype).requires_grad_()
    half = Outputs((), (), small, small, full.size)
    full.small_logits = small.detach().float().requires_grad_()
    with torch.autocast('cpu', torch.bfloat16):
        loss = pixel_mean(pixel_cross_entropy, half, labels())
    expected = pixel_mean(pixel_cross_entropy, full, labels())
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    assert small.grad.dtype == dtype
    torch.testing.assert_close(
        small.grad.float(), full.small_logits.grad, rtol=1e-2, atol=1e-7
    )


class Largest(TorchDispatchMode):
    """Remember the largest number of elements of a tensor."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.elements = max(self.elements, result.numel())
        return result


def test_no_tensor_is_larger_than_one_image():
    student = outputs(SEEN, batch=4)
    target = labels().repeat(2, 1, 1)
    with Largest() as largest:
        loss = pixel_mean(pixel_cross_entropy, student, target)
        torch.autograd.grad(loss, student.small_logits)
    # The small logits of the batch have as many as an image: 4 x 5 x 7.
    assert largest.elements == SEEN * 10 * 14
