import torch

from mmseg_rbc.models.regularizers import min_max
from mmseg_rbc.models.regularizers.base import with_new_rows


def test_min_max_by_blocks():
    values = torch.tensor([[1.0, 3.0], [2.0, 5.0], [10.0, 20.0]])
    expected = torch.tensor([[0, 0.5], [0.25, 1], [0, 1]])
    torch.testing.assert_close(min_max(values, [2, 1]), expected)
    torch.testing.assert_close(
        min_max(values), (values - 1) / 19, rtol=1e-6, atol=0
    )
    assert not min_max(torch.ones(3)).any()


def test_old_rows_come_first():
    old, fresh = torch.tensor([[1.0], [2.0]]), torch.full((3, 1), 7.0)
    assert with_new_rows(old, fresh).tolist() == [[1], [2], [7]]
    assert with_new_rows(old, fresh[:2]).tolist() == [[1], [2]]
    scalar = with_new_rows(torch.tensor(3.0), torch.tensor(5.0))
    assert scalar == 3
    assert with_new_rows(old.double(), fresh).dtype == torch.float32


def test_old_rows_are_a_copy_in_the_format_of_the_fresh_ones():
    old = torch.arange(48.0).view(2, 6, 2, 2)
    fresh = torch.ones(3, 6, 2, 2).to(memory_format=torch.channels_last)
    for rows in (2, 3):
        found = with_new_rows(old, fresh[:rows])
        assert found.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(found[:2], old)
        found.zero_()
    assert old.sum() == sum(range(48)) and fresh.all()
