"""Results as Markdown, and the tables of the documents."""

import re

import pytest
from helpers import NAMES, REPO, write_run

from mmseg_rbc.reporting.markdown import markdown_tables
from mmseg_rbc.runs.experiment import find_experiments
from mmseg_rbc.runs.run import find_runs

TABLES = """\
| mIoU | old | new | all | harmonic | mean | seeds |
| --- | --- | --- | --- | --- | --- | --- |
| joint | 51.0 | 53.5 | 52.0 | 52.2 | 52.0 | 1 |
| rbc | 33.0 ± 2.8 | 35.5 ± 2.8 | 34.0 ± 2.8 | 34.2 ± 2.8 | 43.5 ± 2.8 | 2 |

| all classes | seed 0 | seed 1 |
| --- | --- | --- |
| joint | 52.0 | - |
| rbc | 32.0 | 36.0 |

| all classes | step 0 | step 1 | step 2 |
| --- | --- | --- | --- |
| joint | 52.0 | - | - |
| rbc | 53.0 | 43.5 | 34.0 |

| old classes in a step | shown | absent |
| --- | --- | --- |
| joint | - | - |
| rbc | -10.0 ± 0.0 | -10.0 ± 0.0 |

| lowest | old kept | background | minutes |
| --- | --- | --- | --- |
| joint | - | - | - |
| rbc | 61 % | 30.0 | 2.0 |
"""
DOCUMENTED = re.compile(
    r'<!-- tables of (\S+) -->\n\n(.*?)\n<!-- end of tables -->', re.DOTALL
)


def tables_of(*paths: object) -> str:
    experiments, problems = find_experiments(find_runs(map(str, paths)))
    assert not problems
    return markdown_tables(experiments)


def test_tables(tmp_path):
    """Old classes are 51, 41 and 31 in seed 0; 31 / 51 is the lowest."""
    for seed, level in ((0, 50.0), (1, 54.0)):
        path = tmp_path / f'rbc_x/seed_{seed}'
        write_run(path, level=level, seed=seed, shown=NAMES[1:2])
    write_run(tmp_path / 'joint_x', sizes=[5], task='offline')
    assert tables_of(tmp_path) == TABLES


def test_names_of_equal_methods(tmp_path):
    write_run(tmp_path / 'rbc_a')
    write_run(tmp_path / 'rbc_b')
    first, second = re.findall(r'\| (rbc\S+) \| 31', tables_of(tmp_path))
    assert (first, second) == ('rbc_a', 'rbc_b')


@pytest.mark.parametrize('page', ['experiments', 'voc128'])
def test_documents_show_what_their_results_say(page):
    """Drawn again from the files, not typed."""
    text = (REPO / f'docs/{page}.md').read_text()
    found = DOCUMENTED.findall(text)
    assert found, page
    for folder, tables in found:
        assert tables == tables_of(REPO / 'docs' / folder), folder
