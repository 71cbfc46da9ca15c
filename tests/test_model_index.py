"""Metafiles and READMEs name the configs that exist, and all of them."""

import re
from itertools import product
from pathlib import Path

import pytest
import yaml
from helpers import REPO
from mmengine.config import Config

METHODS = (
    'ewc',
    'ft',
    'ilt',
    'joint',
    'lwf',
    'lwf-mc',
    'mib',
    'pi',
    'plop',
    'rbc',
    'rw',
)
# Later than the RBC paper: other tables, several methods in a folder.
LATER = dict(awt='mib-awt', ewf='plop-ewf', lgkd='lgkd', memory='rbc-m')
FOLDERS = sorted({*METHODS, *LATER})
READMES = [REPO / f'configs/{name}/README.md' for name in FOLDERS]
PATH = re.compile(r'(?:configs|tools)/[\w./{},*-]+\.(?:py|sh)\b')
LINK = re.compile(r'\]\(([^):]+)\)')
KEY = re.compile(r'^\| `(method\.[\w.]+)` \| `(.+?)` \|', re.M)
ROW = re.compile(
    r'^\| ((?:19-1|15-5|15-1) (?:overlapped|disjoint)) '
    r'\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$',
    re.M,
)


def leaves(folder: str) -> list[str]:
    found = (REPO / 'configs' / folder).glob('*.py')
    return sorted(path.relative_to(REPO).as_posix() for path in found)


def expand(pattern: str) -> list[str]:
    """Expand ``{a,b}`` and ``*`` as a shell does; nothing may be missing."""
    parts = re.split(r'\{(.*?)\}', pattern)
    choices = [
        part.split(',') if i % 2 else [part] for i, part in enumerate(parts)
    ]
    files = []
    for name in map(''.join, product(*choices)):
        found = [path.relative_to(REPO) for path in REPO.glob(name)]
        assert found, f'{name} does not exist'
        files += [path.as_posix() for path in found]
    return files


def test_expand():
    assert expand('tools/{train,test}.py') == [
        'tools/train.py',
        'tools/test.py',
    ]
    with pytest.raises(AssertionError, match='tools/fly.py does not exist'):
        expand('tools/{train,fly}.py')


def test_index_imports_all_methods():
    index = yaml.safe_load((REPO / 'model-index.yml').read_text())
    wanted = [f'configs/{name}/metafile.yaml' for name in FOLDERS]
    assert index == {'Import': wanted}
    found = REPO.glob('configs/*/metafile.yaml')
    found = sorted(path.relative_to(REPO).as_posix() for path in found)
    assert found == sorted(wanted)


@pytest.mark.parametrize('method', FOLDERS)
def test_metafile_names_every_config_once(method):
    path = REPO / 'configs' / method / 'metafile.yaml'
    content = yaml.safe_load(path.read_text())
    (collection,) = content['Collections']
    assert collection['README'] == f'configs/{method}/README.md'
    assert (REPO / collection['README']).is_file()
    assert (REPO / collection['Code']).is_file()
    assert collection['Paper']['Title'] and collection['Paper']['URL']
    models = content['Models']
    assert len(models) >= 12
    assert sorted(model['Config'] for model in models) == leaves(method)
    data = collection['Metadata']['Training Data']
    for model in models:
        assert model['Name'] == Path(model['Config']).stem
        assert model['In Collection'] == collection['Name']
        assert model['Metadata']['Training Data'] in data
        # Nothing was trained yet that could be claimed.
        assert not {'Weights', 'Results'} & set(model)


@pytest.mark.parametrize('path', READMES, ids=lambda path: path.parent.name)
def test_readme_names_what_exists(path):
    text = path.read_text()
    assert max(map(len, text.splitlines())) <= 100
    named = {file for name in PATH.findall(text) for file in expand(name)}
    assert 'tools/train.py' in named
    own = f'configs/{path.parent.name}/'
    listed = sorted(name for name in named if name.startswith(own))
    assert listed == leaves(path.parent.name)
    links = LINK.findall(text)
    assert '../../REPRODUCIBILITY.md' in links
    assert all((path.parent / link).is_file() for link in links)


@pytest.mark.parametrize('method', FOLDERS)
def test_readme_gives_the_values_of_the_config(method):
    text = (REPO / f'configs/{method}/README.md').read_text()
    first = LATER.get(method, method)
    name = f'{first}_deeplabv3-r101-d16_voc12aug-15-1-overlapped.py'
    cfg = Config.fromfile(REPO / 'configs' / method / name)
    rows = KEY.findall(text)
    assert len(rows) >= (1 if method in LATER else 2)
    for key, value in rows:
        found = cfg
        for part in key.split('.'):
            found = found[part]
        assert found == yaml.safe_load(value), key


@pytest.mark.parametrize('method', METHODS)
def test_readme_has_the_numbers_of_the_paper(method):
    text = (REPO / f'configs/{method}/README.md').read_text()
    assert 'Numbers of the RBC paper; not yet reproduced here' in text
    rows = ROW.findall(text)
    assert len(rows) == 6 and len({row[0] for row in rows}) == 6
    for name, *numbers in rows:
        old, new, everything = map(float, numbers)
        # A mean over both groups lies between them: no columns swapped.
        assert min(old, new) <= everything <= max(old, new), name
