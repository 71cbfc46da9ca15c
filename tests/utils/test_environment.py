import os
import platform
import subprocess
import sys

import mmengine
import pytest
import torch

import mmseg_rbc
from mmseg_rbc.utils.environment import (
    environment,
    git_state,
    peak_memory,
    versions,
)


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
    """No less than the kernel's mark, and no more than there is.

    Both counters of the kernel lag a little, each in its own way.
    """
    with open('/proc/self/status') as file:
        kilobytes = next(
            int(line.split()[1]) for line in file if line.startswith('VmHWM')
        )
    page, pages = os.sysconf('SC_PAGE_SIZE'), os.sysconf('SC_PHYS_PAGES')
    assert kilobytes // 2**10 - 4 <= peak_memory() < page * pages // 2**20


def test_environment_is_complete():
    found = environment()
    assert found['threads'] == torch.get_num_threads()
    assert found['versions'] == versions()
    assert found['git'] == git_state()


def git(root, *arguments: str) -> str:
    who = ['-c', 'user.name=a', '-c', 'user.email=a@b']
    command = ['git', '-C', str(root), *who, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_state_of_a_checkout(tmp_path):
    assert git_state(str(tmp_path / 'none')) is None
    root = tmp_path / 'checkout'
    (root / 'inside').mkdir(parents=True)
    git(root, 'init', '-q')
    assert git_state(str(root)) is None, 'no commit yet'
    (root / 'file').write_text('a')
    git(root, 'add', 'file')
    git(root, 'commit', '-qm', 'first')
    commit = git(root, 'rev-parse', 'HEAD')
    git_state.cache_clear()
    assert git_state(str(root)) == dict(commit=commit, modified=False)
    (root / 'untracked').touch()
    git_state.cache_clear()
    assert not git_state(str(root))['modified']
    (root / 'file').write_text('b')
    assert not git_state(str(root))['modified'], 'the code that runs is older'
    git_state.cache_clear()
    assert git_state(str(root))['modified']
    assert git_state(str(root / 'inside')) is None, 'of another project'
    git_state.cache_clear()
