"""A batch of 12 images, shared by up to 12 processes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers import TESTS, run_tool
from run_shares import CASES, SIZES, sizes_of

PAIRS = [(case, size) for case in CASES for size in sizes_of(case)]


@pytest.fixture(scope='module')
def found(tiny_root, tmp_path_factory) -> dict[int, list]:
    """Return what every process of every group computed."""
    out = tmp_path_factory.mktemp('shares')
    run_tool(TESTS / 'run_shares.py', tiny_root, out)
    return {size: [load(out, size, r) for r in range(size)] for size in SIZES}


def load(out: Path, size: int, rank: int) -> dict:
    return torch.load(out / f'{size}_{rank}.pth', weights_only=True)


@pytest.mark.parametrize('method, size', PAIRS)
def test_each_image_once(found, method, size):
    views = 2 if method.startswith('rbc') else 1
    every = sorted(found[1][0][method]['names'])
    assert len(set(every)) == 12 and len(every) == 12 * views
    names = [one[method]['names'] for one in found[size]]
    assert sorted(name for own in names for name in own) == every
    counts = {len(own) // views for own in names}
    assert counts <= {12 // size, -(-12 // size)}


@pytest.mark.parametrize('method, size', [p for p in PAIRS if p[1] > 1])
def test_losses_and_gradients_of_one_process(found, method, size):
    single = found[1][0][method]
    processes = [one[method] for one in found[size]]
    for name, expected in single['losses'].items():
        mean = sum(one['losses'][name] for one in processes) / size
        assert 0.1 < expected < 50, f'the weight of {name} hides others'
        assert mean == pytest.approx(expected, rel=1e-5), name
    largest = max(g.abs().max() for g in single['gradients'].values())
    assert largest > 1e-2
    atol = 1e-5 * max(1.0, float(largest))
    for name, expected in single['gradients'].items():
        for one in processes:
            torch.testing.assert_close(
                *(one['gradients'][name], expected), rtol=0, atol=atol
            )
