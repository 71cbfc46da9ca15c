"""What a scan of many files needs; test_class_index.py kills it, too."""

import numpy as np
import pytest
from mmengine.logging import MMLogger

from mmseg_rbc.datasets.class_index_cache import ClassIndexCache
from mmseg_rbc.datasets.scan import scan


def look(numbers):
    """Return the bits of numbers; 200 cannot be read."""
    if 200 in numbers:
        raise ValueError('200 is broken')
    return np.array([[n >> k & 1 for k in range(8)] for n in numbers], bool)


@pytest.fixture
def cache(tmp_path):
    (tmp_path / 'file').write_text('x')
    return ClassIndexCache([str(tmp_path / 'file')], 'bits', num_columns=8)


@pytest.mark.parametrize('num_workers', [1, 2])
def test_rows_are_in_order(cache, num_workers, tmp_path):
    numbers = list(range(150))
    rows = scan(numbers, cache, look, 'numbers', num_workers)
    assert (rows @ (1 << np.arange(8)) == numbers).all()
    assert len(list(tmp_path.glob('.mmseg_rbc/bits-*.npz'))) == 1

    def never(items):
        raise AssertionError(items)

    assert (scan(numbers, cache, never, 'numbers', 1) == rows).all()


def test_a_line_says_where_the_result_is(cache, tmp_path, capsys):
    """Once: the folder of the masks is the user's."""
    MMLogger.get_instance('scan', log_level='INFO')
    scan([1, 2], cache, look, 'numbers', 1)
    (place,) = tmp_path.glob('.mmseg_rbc/bits-*.npz')
    line = f'what numbers hold is kept in {place}'
    assert ''.join(capsys.readouterr()).count(line) == 1
    scan([1, 2], cache, look, 'numbers', 1)
    assert line not in ''.join(capsys.readouterr())


def test_what_was_found_before_an_error_is_kept(cache):
    numbers = [*range(70), 200]
    with pytest.raises(ValueError, match='200 is broken'):
        scan(numbers, cache, look, 'numbers', 1)
    assert len(cache.read()) == 64
    numbers[-1] = 3
    assert len(scan(numbers, cache, look, 'numbers', 1)) == 71
