"""The numbers of the paper, and which runs may be compared with them."""

import csv
from pathlib import Path

import pytest
from helpers import PAPERS_CONFIG
from mmengine.config import Config

from mmseg_rbc.engine import step_config
from mmseg_rbc.reporting.paper import TABLE, is_papers_setup, paper_numbers

CONFIGS = Path(__file__).parents[2] / 'configs'


def test_numbers_are_those_of_the_readmes():
    with open(TABLE, newline='') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11 * 3 * 2
    for row in rows:
        method, task, setting = row['method'], row['task'], row['setting']
        text = (CONFIGS / method / 'README.md').read_text()
        (cells,) = [
            line.split('|')[2:5]
            for line in text.splitlines()
            if line.startswith(f'| {task} {setting} |')
        ]
        numbers = paper_numbers(method, task, setting)
        assert numbers == tuple(map(float, cells)), row


def test_one_row():
    assert paper_numbers('rbc', '15-1', 'disjoint') == (61.68, 19.52, 51.60)


@pytest.mark.parametrize(
    'key',
    [
        ('rbc', '5-3', 'overlapped'),
        ('mine', '15-1', 'overlapped'),
        ('rbc', None, None),
    ],
)
def test_no_row(key):
    assert paper_numbers(*key) is None


@pytest.mark.parametrize(
    'name, expected',
    [
        ('rbc_deeplabv3-r101-d16_voc12aug-15-1-overlapped', True),
        ('rbc_deeplabv3-r101-d16_ade20k-100-50-overlapped', False),
        ('rbc_fcn-tiny_shapes-15-1-overlapped', False),
    ],
)
def test_setup_of_our_configs(name, expected):
    cfg = Config.fromfile(CONFIGS / f'rbc/{name}.py')
    assert is_papers_setup(step_config(cfg, 1).pretty_text) is expected


@pytest.mark.parametrize(
    'old, new, expected',
    [
        ('', '', True),
        ('ContinualVOCDataset', 'ContinualDataset', False),
        ('[512, 512]', '(512, 512)', True),
        ('[512, 512]', '(512, 128)', False),
        ('[512, 512]', '512', False),
        ('depth=101', 'depth=50', False),
        (', depth=101', '', False),
        ('ASPPHead', 'FCNHead', False),
    ],
)
def test_every_part_counts(old, new, expected):
    assert is_papers_setup(PAPERS_CONFIG.replace(old, new)) is expected


@pytest.mark.parametrize(
    'text',
    [
        '',
        'model = dict(',
        'model = 3',
        "model = -'x'",
        'train_dataloader = dict(dataset=dict())',
        'import os\n' + PAPERS_CONFIG,
        PAPERS_CONFIG + 'x = open("mark", "w")\n',
    ],
)
def test_odd_configs_are_not_the_papers(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_papers_setup(text) is False
    assert not list(tmp_path.iterdir()), 'nothing was executed'
