"""The tables of docs/networks.md say what happens."""

import os
import re

import pytest
from helpers import REPO
from network_cases import all_cases, make_data, try_network

PAGE = (REPO / 'docs' / 'networks.md').read_text()
ROWS = re.findall(r'^\| (\w+) \| (.+) \|$', PAGE, re.MULTILINE)
TABLE = {name: result for name, result in ROWS if name != 'name'}
# What depends on the packages that are installed.
OPTIONAL = ('PSAHead', 'TIMMBackbone')
REFUSED = [
    name
    for name, result in TABLE.items()
    if result != 'works' and name not in OPTIONAL
]
# Each has something that the others have not: class tokens, a cascade,
# branches, sizes that a probe has to respect, several stages, another layout.
USUAL = [
    *('DPTHead', 'OCRHead', 'DAHead', 'EncHead', 'SETRMLAHead', 'UNet'),
    *('SwinTransformer', 'BEiT', 'UPerHead', 'BiSeNetV1', *REFUSED),
]
ALL = [name for name in all_cases() if name not in OPTIONAL]


@pytest.fixture(scope='module')
def root(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp('networks'))
    make_data(folder)
    return folder


def test_every_head_and_backbone_has_a_row():
    assert {*TABLE} == {*all_cases()}
    assert len(REFUSED) == 13
    for name in REFUSED:
        assert name in TABLE[name], 'the sentence names it'


@pytest.mark.parametrize(
    'name', ALL if os.environ.get('MMSEG_RBC_ALL_NETWORKS') else USUAL
)
def test_row(root, name):
    assert try_network(root, name) == TABLE[name]
