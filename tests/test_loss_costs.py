"""What the losses of all methods cost: memory, and waiting for the device."""

import sys

import pytest
from helpers import REPO

sys.path.insert(0, str(REPO / 'benchmarks'))
from losses import CLASSES, METHODS, Case  # noqa: E402

sys.path.pop(0)
# Joint has one step.
NAMES = sorted({path.stem for path in METHODS.glob('*.py')} - {'joint'})


@pytest.mark.parametrize('classes', CLASSES, ids=str)
@pytest.mark.parametrize('name', NAMES)
def test_memory_is_half_of_the_logits(name, classes):
    """Of 8 images, or 4 duplets; before, RBC took 5 and MiB 8 times it."""
    case = Case(name, *classes, images=8, size=128)
    assert 0.1 < case.peak('all') <= 0.5
