"""The short form of .dev_scripts/kill.py."""

import re

from helpers import REPO, run_tool

# Every file of step 1 that is written at once, and all others that are.
AT = 'rename .*(npz|step_1|summary)'


def test_killed_runs_end_like_undisturbed_ones():
    """RBC and EWC, killed at these writes and once at random."""
    printed = run_tool(
        *(REPO / '.dev_scripts/kill.py', '--kills', 1, '--at', AT)
    )
    assert printed.endswith('all runs ended alike\n')
    names = re.findall(r'killed before os.rename (\S+)\.part', printed)
    step = 'run/step_1/'
    for name in ('epoch_1.pth', 'epoch_2.pth', 'final.pth', 'metrics.json'):
        assert names.count(step + name) == 2, 'of both methods'
    assert names.count(step + 'finished.json') == 2
    assert names.count('run/summary.json') == 2
    assert names.count(step + 'importance.pth') == 1, 'EWC only'
    scans = [name for name in names if name.startswith('data/')]
    assert len(scans) >= 4, 'class index and headers'
    assert re.findall(r'(\w+): 1 kills at random', printed) == ['rbc', 'ewc']
