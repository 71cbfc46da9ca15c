"""Try every decode head and backbone of MMSeg, and draw docs/networks.md.

    python .dev_scripts/update_networks.py

Each one is put into a tiny network (tests/network_cases.py), which is built,
trained for one iteration of step 0 and one of step 1 with RBC, and evaluated,
as ``tools/train.py --check`` does.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
from pathlib import Path

from mmengine.registry import init_default_scope

import mmseg_rbc  # noqa: F401

REPO = Path(__file__).parents[1]
sys.path.insert(0, str(REPO / 'tests'))
PAGE = REPO / 'docs' / 'networks.md'
TABLE = re.compile(r'(<!-- (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


def draw_table(results: dict[str, str]) -> str:
    """Return a table of names and results."""
    rows = [f'| {name} | {results[name]} |' for name in sorted(results)]
    return '\n'.join(['| name | result |', '|---|---|', *rows, ''])


def main() -> None:
    """Run the command line."""
    from network_cases import BACKBONES, HEADS, make_data, try_network

    init_default_scope('mmseg')
    logging.disable(logging.WARNING)
    kinds = dict(heads=HEADS, backbones=BACKBONES)
    with tempfile.TemporaryDirectory() as root:
        make_data(root)
        tables = {
            kind: draw_table({name: try_network(root, name) for name in cases})
            for kind, cases in kinds.items()
        }
    page = PAGE.read_text()
    PAGE.write_text(TABLE.sub(lambda m: m[1] + tables[m[2]] + m[3], page))
    print(f'written: {PAGE}')


if __name__ == '__main__':
    main()
