import pytest
import torch
from mmengine.registry import PARAM_SCHEDULERS


def test_published_schedule():
    """lr_0 (1 - t / T)^0.9 at iteration t, never 0."""
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scheduler = PARAM_SCHEDULERS.build(
        dict(
            type='PublishedPolyLR',
            optimizer=optimizer,
            power=0.9,
            begin=0,
            end=4,
            by_epoch=True,
            convert_to_iter_based=True,
            epoch_length=5,
        )
    )
    for t in range(20):
        lr = optimizer.param_groups[0]['lr']
        assert lr == pytest.approx(0.1 * (1 - t / 20) ** 0.9, rel=1e-6)
        optimizer.step()
        scheduler.step()
