"""No label map, size, scale or precision makes a loss infinite."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import CONSISTENCIES, LOSSES, cases
from torch import nn

import mmseg_rbc.models.losses

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
# What AMP's loss scaling arrives at where gradients exceed float16.
LOSS_SCALE = 2.0**-32


def test_all_losses_are_tried():
    public = vars(mmseg_rbc.models.losses)
    names = {
        name
        for name in mmseg_rbc.models.losses.__all__
        if isinstance(public[name], type)
        and issubclass(public[name], nn.Module)
    }
    assert {cfg['type'] for cfg in LOSSES.values()} == names


@pytest.mark.parametrize('dtype', DTYPES, ids=str)
@pytest.mark.parametrize('name', LOSSES)
@given(data=st.data())
def test_losses_and_gradients_are_finite(name, dtype, data):
    num_views = 2 if name in CONSISTENCIES else 1
    case = data.draw(cases(num_views, dtype=dtype))
    mixed = dtype != torch.float32
    with torch.autocast('cpu', dtype if mixed else torch.bfloat16, mixed):
        loss = case.loss(name)
    assert loss.dtype == torch.float32
    assert torch.isfinite(loss) and loss >= -1e-5
    scale = LOSS_SCALE if dtype == torch.float16 else 1
    gradients = case.gradients(scale * loss)
    assert gradients
    for gradient in gradients:
        assert torch.isfinite(gradient).all()
