"""Keep the small files of runs in docs/results/, and draw docs' tables again.

    python .dev_scripts/update_results.py WORK_DIR docs/results/NAME
    python .dev_scripts/update_results.py          # the tables only

Runs that are finished are copied: what each step ran with, and its numbers. In
the pages the tables stand between ``<!-- tables of results/NAME -->`` and
``<!-- end of tables -->``; a test compares them with the files.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

from mmseg_rbc.reporting.markdown import markdown_tables
from mmseg_rbc.runs.experiment import find_experiments
from mmseg_rbc.runs.run import find_runs

DOCS = Path(__file__).parents[1] / 'docs'
KEPT = ('finished.json', 'metrics.json', 'context_bias.json')
TABLES = re.compile(
    r'(<!-- tables of (\S+) -->\n).*?(<!-- end of tables -->)', re.DOTALL
)


def copy_results(source: Path, target: Path) -> int:
    """Copy the small files of finished runs, and count the runs."""
    runs = [run for run in find_runs([str(source)]) if all(run.finished)]
    for run in runs:
        for step in range(run.num_steps):
            origin = Path(run.folder.step(step).path)
            folder = target / origin.relative_to(source)
            folder.mkdir(parents=True, exist_ok=True)
            for name in KEPT:
                if (origin / name).is_file():
                    shutil.copy(origin / name, folder / name)
    return len(runs)


def draw_tables(match: re.Match) -> str:
    """Return a part of a page with the tables of its results."""
    begin, folder, end = match.groups()
    experiments, problems = find_experiments(find_runs([str(DOCS / folder)]))
    print('\n'.join(problems) or f'{folder}: {len(experiments)} experiments')
    return f'{begin}\n{markdown_tables(experiments)}\n{end}'


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('source', type=Path, nargs='?')
    parser.add_argument('target', type=Path, nargs='?')
    args = parser.parse_args()
    if args.source:
        if not args.target:
            parser.error('a folder in docs/results/ is missing')
        print(f'{copy_results(args.source, args.target)} runs copied')
    for page in DOCS.glob('*.md'):
        text = page.read_text()
        page.write_text(TABLES.sub(draw_tables, text))


if __name__ == '__main__':
    main()
