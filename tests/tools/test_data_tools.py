"""The tools that make and show data, as a user calls them."""

import importlib.util
import runpy
import sys

import numpy as np
import pytest
from helpers import CONFIGS, REPO, run_tool
from PIL import Image

TOOLS = REPO / 'tools'


def test_shapes_then_duplets(tmp_path):
    root = tmp_path / 'shapes'
    args = ['--num-train', 60, '--num-val', 2, '--size', 48, 64]
    out = run_tool('dataset_converters/make_shapes.py', root, *args)
    assert f'wrote 60 + 2 images to {root}' in out
    with Image.open(root / 'JPEGImages/shapes_000061.jpg') as image:
        assert image.size == (64, 48)
    picture = tmp_path / 'new' / 'duplets.png'
    out = run_tool(
        'analysis_tools/browse_duplets.py',
        CONFIGS / '_base_/datasets/continual_shapes.py',
        *('--step', 1, '--num', 3, '--out', picture),
        *('--cfg-options', 'continual.task=15-5'),
        f'continual.data_root={root}',
    )
    assert f'wrote {picture}' in out
    pixels = np.array(Image.open(picture).convert('RGB'))
    assert pixels.shape[1] == 1200 and pixels.std() > 20


def test_voc_lists(tmp_path):
    folder = tmp_path / 'ImageSets/Segmentation'
    folder.mkdir(parents=True)
    (folder / 'val.txt').write_text('mine\n')
    run_tool('dataset_converters/voc_lists.py', tmp_path)
    names = (folder / 'trainaug.txt').read_text().split()
    assert len(names) == 10582 and names[0] == '2007_000032'
    assert (folder / 'val.txt').read_text() == 'mine\n'


@pytest.fixture
def voc128():
    """The tool as a module."""
    path = TOOLS / 'dataset_converters/voc128.py'
    spec = importlib.util.spec_from_file_location('voc128', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    'size, expected',
    [((500, 375), (128, 96)), ((333, 500), (85, 128)), ((900, 3), (128, 1))],
)
def test_voc128_reduces_a_pair(voc128, tmp_path, size, expected):
    """The longer side is 128, and labels are picked, not mixed."""
    rng = np.random.default_rng(0)
    values = rng.choice([0, 3, 20, 255], size[::-1]).astype(np.uint8)
    mask = Image.fromarray(values)
    mask.putpalette(list(range(256)) * 3)
    for root in ('voc', 'small'):
        for folder in ('JPEGImages', 'SegmentationClassAug'):
            (tmp_path / root / folder).mkdir(parents=True)
    mask.save(tmp_path / 'voc/SegmentationClassAug/a.png')
    color = Image.new('RGB', size, (200, 100, 50))
    color.save(tmp_path / 'voc/JPEGImages/a.jpg')
    source, target = str(tmp_path / 'voc'), str(tmp_path / 'small')
    voc128.reduce_pair('a', source, target, 128)
    with Image.open(tmp_path / 'small/JPEGImages/a.jpg') as image:
        assert image.size == expected
        assert abs(np.array(image, int) - (200, 100, 50)).max() <= 3
    with Image.open(tmp_path / 'small/SegmentationClassAug/a.png') as small:
        assert small.size == expected and small.mode == 'P'
        found = np.array(small)
    # The pixel of the source that the middle of a small one falls into.
    y, x = (
        ((np.arange(new) + 0.5) * old / new).astype(int)
        for new, old in zip(expected[::-1], size[::-1])
    )
    np.testing.assert_array_equal(found, values[np.ix_(y, x)])


def test_voc128_names_what_is_missing(tmp_path):
    (tmp_path / 'JPEGImages').mkdir()
    tool = 'dataset_converters/voc128.py'
    out = run_tool(tool, tmp_path, tmp_path / 'out', expected=1)
    assert 'JPEGImages/2007_000032.jpg does not exist' in out
    assert '12031 of the 12031' in out and len(out.splitlines()) == 1
    assert not (tmp_path / 'out').exists()


TOOLS_OF_PYTHON = sorted(TOOLS.glob('**/*.py'))


def test_number_of_tools():
    assert len(TOOLS_OF_PYTHON) >= 11


@pytest.mark.parametrize('tool', TOOLS_OF_PYTHON, ids=lambda path: path.stem)
def test_help(tool, monkeypatch, capsys):
    """In this process, which has imported everything; others start them."""
    monkeypatch.setattr(sys, 'argv', [str(tool), '--help'])
    monkeypatch.syspath_prepend(str(tool.parent))
    with pytest.raises(SystemExit) as info:
        runpy.run_path(str(tool), run_name='__main__')
    assert info.value.code == 0
    out = capsys.readouterr().out
    assert f'usage: {tool.name}' in out and len(out.splitlines()) > 4
