import subprocess
import sys
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
from PIL import Image

REPO = Path(__file__).parents[2]


def run_tool(name: str, *args: str, check: bool = True) -> str:
    done = subprocess.run(
        [sys.executable, str(REPO / 'tools' / name), *args],
        capture_output=True,
        text=True,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_shapes_then_duplets(tmp_path):
    root = str(tmp_path / 'shapes')
    args = ['--num-train', '60', '--num-val', '2', '--size', '48', '64']
    out = run_tool('dataset_converters/make_shapes.py', root, *args)
    assert f'wrote 60 + 2 images to {root}' in out
    picture = tmp_path / 'new' / 'duplets.png'
    out = run_tool(
        'analysis_tools/browse_duplets.py',
        str(REPO / 'configs/_base_/datasets/continual_shapes.py'),
        *('--step', '1', '--num', '3', '--out', str(picture)),
        *('--cfg-options', 'continual.task=15-5'),
        f'train_dataloader.dataset.data_root={root}',
    )
    assert f'wrote {picture}' in out
    pixels = np.array(Image.open(picture).convert('RGB'))
    assert pixels.shape[1] == 1200 and pixels.std() > 20


def test_voc_lists(tmp_path):
    folder = tmp_path / 'ImageSets/Segmentation'
    folder.mkdir(parents=True)
    (folder / 'val.txt').write_text('mine\n')
    run_tool('dataset_converters/voc_lists.py', str(tmp_path))
    names = (folder / 'trainaug.txt').read_text().split()
    assert len(names) == 10582 and names[0] == '2007_000032'
    assert (folder / 'val.txt').read_text() == 'mine\n'


def test_help_of_every_tool():
    tools = sorted(REPO.glob('tools/**/*.py'))
    assert len(tools) >= 4
    names = [str(tool.relative_to(REPO / 'tools')) for tool in tools]
    with ThreadPool(2) as pool:
        outputs = pool.map(lambda name: run_tool(name, '--help'), names)
    for name, out in zip(names, outputs):
        assert 'usage:' in out and len(out.splitlines()) > 4, name
