"""The short form of .dev_scripts/soak.py."""

import json

from helpers import REPO, run_tool


def test_nothing_grows_from_step_to_step():
    """Eight steps of RBC in one process, with workers."""
    printed = run_tool(REPO / '.dev_scripts/soak.py', '--steps', 8)
    assert 'nothing grew' in printed
    lines = [x for x in printed.splitlines() if x.startswith('{"step"')]
    found = list(map(json.loads, lines))
    assert [counts['step'] for counts in found] == list(range(8))
    assert {counts['files'] for counts in found} == {found[0]['files']}
    assert {counts['processes'] for counts in found} == {0}
