import os
import platform
import sys

import mmengine
import pytest
import torch

import mmseg_rbc
from mmseg_rbc.utils.environment import peak_memory, versions


def test_versions_are_those_that_run():
    found = versions()
    assert found['mmseg_rbc'] == mmseg_rbc.__version__
    assert found['mmengine'] == mmengine.__version__
    assert found['torch'] == torch.__version__
    assert found['python'] == platform.python_version()
    if not torch.cuda.is_available():
        assert found['device'] == 'cpu'


@pytest.mark.skipif(
    torch.cuda.is_available() or sys.platform != 'linux',
    reason='the memory of a GPU, or of another system',
)
def test_peak_memory_is_in_megabytes():
    """No less than the kernel's mark, and no more than there is."""
    with open('/proc/self/status') as file:
        kilobytes = next(
            int(line.split()[1]) for line in file if line.startswith('VmHWM')
        )
    page, pages = os.sysconf('SC_PAGE_SIZE'), os.sysconf('SC_PHYS_PAGES')
    assert kilobytes // 2**10 <= peak_memory() < page * pages // 2**20
