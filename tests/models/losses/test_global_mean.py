"""With one process; tests/test_shares.py compares it with up to 12."""

import torch

from mmseg_rbc.models.losses import global_mean, image_share


def test_mean_over_the_pixels_of_a_mask():
    mask = torch.tensor([[[True, True], [True, False]]])
    assert global_mean(torch.tensor(6.0), mask) == 2
    assert global_mean(torch.tensor(0.0), mask & False) == 0


def test_one_process_has_all_images():
    assert image_share(7, torch.zeros(())) == 1
